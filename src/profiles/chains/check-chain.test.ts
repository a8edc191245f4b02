import fc from 'fast-check'
import { expect, test } from 'vitest'
import { namesForOriginal, parseCheckChain } from './check-chain.ts'

const values: Readonly<Record<string, boolean>> = { a: true, b: false, c: true }

function outcome(text: string): boolean | string {
  const parsed = parseCheckChain(text)
  if ('message' in parsed) return `${parsed.offset}: ${parsed.message}`
  return parsed.evaluate(parsed.names.map(({ name }) => values[name] === true))
}

const names = (text: string) => {
  const parsed = parseCheckChain(text)
  return 'names' in parsed ? parsed.names.map(({ name }) => name) : parsed.message
}

test.for<[string, boolean]>([
  ['a && b', false],
  ['a || b', true],
  ['a || b && b', true],
  ['b && b || a', true],
  ['a || b && c', true],
  ['!a', false],
  ['!b', true],
  ['!!a', true],
  ['! a', false],
  ['!a || a', true],
  ['!(a || b)', false],
  ['a && !(b || c)', false],
  ['!a && b || c', true],
  ['a && !b && c', true],
  ['(a || b) && b', false],
  // The original cannot read these.
  ['a&&b', false],
  ['(a||b)', true],
  ['a\n&&\tb', false],
  ['a && b\n', false],
])('%j is %s when b alone is false', ([text, isPassed]) => {
  expect(outcome(text)).toBe(isPassed)
})

test.for<[string, string]>([
  ['', '0: it is empty; write the names of checks, such as a && !b'],
  [' \n', '0: it is empty; write the names of checks, such as a && !b'],
  ['a b', '2: there is no && or || before b'],
  ['a &&', '4: it ends where the name of a check should follow'],
  ['!', '1: it ends where the name of a check should follow'],
  ['&& a', '0: a && stands where the name of a check should be'],
  ['a || || b', '5: a || stands where the name of a check should be'],
  ['(a', '0: the ( here has no ) behind it'],
  ['a && (b || (c)', '5: the ( here has no ) behind it'],
  ['a)', '1: a ) stands here that nothing opened; take it out'],
  ['()', '1: a ) stands where the name of a check should be'],
  ['a & b', '2: a single & stands here; write &&'],
  ['a | b', '2: a single | stands here; write ||'],
  ['a == b', '2: "=" means nothing in a chain of checks; join names with &&, ||, ! and brackets'],
  ['a -b', '2: "-" means nothing in a chain of checks; join names with &&, ||, ! and brackets'],
  ['.a', '0: "." means nothing in a chain of checks; join names with &&, ||, ! and brackets'],
])('%j is refused', ([text, message]) => {
  expect(outcome(text)).toBe(message)
})

test.for<[string, readonly string[]]>([
  ['a && a && a', ['a', 'a', 'a']],
  ['a && b && a && b', ['a', 'b', 'a', 'b']],
  ['(c || !a) && b', ['c', 'a', 'b']],
  ['reboot-needed && v1.2_x', ['reboot-needed', 'v1.2_x']],
  ['1st || 2', ['1st', '2']],
  ['true && false || null && date', ['true', 'false', 'null', 'date']],
  ['prüfung && 検査', ['prüfung', '検査']],
])('%j asks %j', ([text, asked]) => {
  expect(names(text)).toEqual(asked)
})

test('brackets without end do not exhaust the stack', () => {
  expect(outcome(`${'('.repeat(100_000)}a`)).toMatch(/nested too deep/)
  expect(outcome(`${'!'.repeat(100_000)}a`)).toMatch(/nested too deep/)
  expect(outcome(Array.from({ length: 10_000 }, () => 'a').join(' && '))).toBe(true)
})

test.for<[string, readonly string[]]>([
  ['a && !(b || c)', ['a', 'b', 'c']],
  ['a&&b', ['ab']],
  ['a\n&& b', ['a\n', 'b']],
])('the original sees %j as %j', ([text, seen]) => {
  expect(namesForOriginal(text)).toEqual(seen)
})

interface Sample {
  readonly text: string
  readonly names: readonly string[]
  readonly of: (answers: Record<string, boolean>) => boolean
}

const { expression } = fc.letrec<{ expression: Sample; name: Sample; not: Sample; joined: Sample }>((tie) => ({
  expression: fc.oneof({ maxDepth: 5 }, tie('name'), tie('not'), tie('joined')),
  name: fc
    .constantFrom('a', 'b', 'c', 'd-1')
    .map((name) => ({ text: name, names: [name], of: (all) => all[name] === true })),
  not: tie('expression').map(({ text, names, of }) => ({ text: `!(${text})`, names, of: (all) => !of(all) })),
  joined: fc
    .tuple(tie('expression'), fc.constantFrom('&&', '||'), tie('expression'), fc.constantFrom('', ' ', '\n'))
    .map(([left, operator, right, blank]) => ({
      text: `(${left.text}${blank}${operator}${blank}${right.text})`,
      names: [...left.names, ...right.names],
      of: (all) => (operator === '&&' ? left.of(all) && right.of(all) : left.of(all) || right.of(all)),
    })),
}))

test('every expression means what its parts mean, and asks all of them in the order of the text', () => {
  const answers = fc.record({ a: fc.boolean(), b: fc.boolean(), c: fc.boolean(), 'd-1': fc.boolean() })
  fc.assert(
    fc.property(expression, answers, (sample, all) => {
      const parsed = parseCheckChain(sample.text)
      if ('message' in parsed) throw new Error(parsed.message)
      expect(parsed.names.map(({ name }) => name)).toEqual(sample.names)
      for (const { name, offset } of parsed.names) expect(sample.text.startsWith(name, offset)).toBe(true)
      expect(parsed.evaluate(parsed.names.map(({ name }) => all[name as keyof typeof all]))).toBe(sample.of(all))
    }),
  )
})
