import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareSemVer, readSemVer } from './semver.ts'

test.for([
  'v1.2.3',
  '1.2',
  '1',
  '1.2.3.4',
  '01.2.3',
  '1.02.3',
  '1.2.3-',
  '1.2.3-01',
  '1.2.3+',
  ' 1.2.3',
  '',
  'thiswillnotparse',
])('%j is no version', (text) => {
  expect(readSemVer(text)).toBeUndefined()
})

/** The example of the standard, and what it says besides. */
const ascending = [
  '0.0.0',
  '0.1.0',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.9.0',
  '1.10.0',
  '1.34.7',
  '2.3.1',
  '2.3.1000000000000000000000001',
]

function compare(one: string, other: string): number {
  const [first, second] = [readSemVer(one), readSemVer(other)]
  if (!first || !second) throw new Error(`${one} or ${other} is no version`)
  return compareSemVer(first, second)
}

test('every version of the list is higher than all before it', () => {
  for (const [index, one] of ascending.entries())
    for (const [otherIndex, other] of ascending.entries())
      expect(compare(one, other), `${one} and ${other}`).toBe(Math.sign(index - otherIndex))
})

test('build metadata does not count', () => {
  expect(compare('1.0.0+a', '1.0.0+b')).toBe(0)
  expect(compare('1.0.0-rc.1+a.5', '1.0.0-rc.1')).toBe(0)
})

test('three numbers compare as numbers do', () => {
  const version = fc.tuple(fc.nat(), fc.nat(), fc.nat())
  fc.assert(
    fc.property(version, version, (one, other) => {
      const first = one.findIndex((part, index) => part !== other[index])
      const expected = first < 0 ? 0 : Math.sign((one[first] ?? 0) - (other[first] ?? 0))
      expect(compare(one.join('.'), other.join('.'))).toBe(expected)
    }),
  )
})
