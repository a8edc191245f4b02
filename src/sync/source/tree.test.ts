import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameProblem, partsOfPath, readTree } from './tree.ts'

const id = 'ab'.repeat(20)
const entry = (mode: string, name: string | Buffer, hex = id) =>
  Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.alloc(1), Buffer.from(hex, 'hex')])

test('files and folders are told apart, in SHA-1 and in SHA-256', () => {
  for (const length of [20, 32]) {
    const hex = 'cd'.repeat(length)
    const bytes = Buffer.concat([entry('100644', 'a.yaml', hex), entry('100755', 'b', hex), entry('40000', 'c', hex)])
    expect(readTree(bytes, length, 'top')).toEqual([
      { is: 'file', path: 'top/a.yaml', id: hex },
      { is: 'file', path: 'top/b', id: hex },
      { is: 'folder', path: 'top/c', id: hex },
    ])
  }
})

test.for([
  ['a symbolic link', entry('120000', 'x'), 'Symlink', 'top/x'],
  ['a submodule', entry('160000', 'x'), 'Submodule', 'top/x'],
  ['an unknown mode', entry('100000', 'x'), 'Damaged', 'top/x'],
  ['a name that is not UTF-8', entry('100644', Buffer.from([0x61, 0xff])), 'HostileName', undefined],
  [
    'two names that differ in case',
    Buffer.concat([entry('100644', 'A'), entry('100644', 'a')]),
    'HostileName',
    'top/a',
  ],
  ['one name twice', Buffer.concat([entry('100644', 'a'), entry('40000', 'a')]), 'HostileName', 'top/a'],
  ['a torn end', entry('100644', 'a').subarray(0, 20), 'Damaged', 'top'],
  ['no mode', Buffer.from('x'), 'Damaged', 'top'],
] as const)('%s is a fault', ([, bytes, code, path]) => {
  const fault = expect.objectContaining(path === undefined ? { code } : { code, path })
  expect(() => readTree(bytes, 20, 'top')).toThrow(fault)
})

test('with one entry asked for, its neighbours do not count', () => {
  const bytes = Buffer.concat([entry('120000', 'link'), entry('40000', 'apps'), entry('160000', 'module')])
  expect(readTree(bytes, 20, '', 'apps')).toEqual([{ is: 'folder', path: 'apps', id }])
  expect(() => readTree(bytes, 20, '', 'link')).toThrow(expect.objectContaining({ code: 'Symlink' }))
})

test('any good names come back as they were', () => {
  const name = fc
    .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    .filter((text) => nameProblem(text) === undefined)
  const names = fc.uniqueArray(name, { selector: (text) => text.toLowerCase() })
  fc.assert(
    fc.property(names, (all) => {
      const bytes = Buffer.concat(all.map((one) => entry('100644', one)))
      expect(readTree(bytes, 20, '').map(({ path }) => path)).toEqual(all)
    }),
  )
})

test('whatever bytes are there, it is a list or a fault of ours', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        readTree(Buffer.from(bytes), 20, '')
      } catch (fault) {
        expect(fault).toMatchObject({ name: 'SourceFault' })
      }
    }),
  )
})

test.for([
  '',
  '.',
  '..',
  'a/b',
  'a\\b',
  'a\nb',
  'a\u007f',
  'a\u2028',
  'x\u202elmay',
  '.git',
  '.GIT',
  '.Git ',
  '.git.',
  'git~1',
  'GIT~1',
  '.g\u200cit',
  '.git::$INDEX_ALLOCATION',
  'x'.repeat(256),
])('nothing may be called %j', (name) => {
  expect(nameProblem(name)).toEqual(expect.any(String))
})

test.for(['a', '.gitignore', '.github', '...', 'a b', 'a:b', 'größe.yaml', 'git', '日本.yaml', '-a'])(
  '%j is a good name',
  (name) => {
    expect(nameProblem(name)).toBeUndefined()
  },
)

test.for([
  ['', []],
  ['.', []],
  ['/', []],
  ['./apps//web/', ['apps', 'web']],
  ['/apps', ['apps']],
] as const)('the path %j has its parts', ([path, parts]) => {
  expect(partsOfPath(path)).toEqual(parts)
})

test.for(['..', 'a/../b', 'a/.git', 'a\nb'])('the path %j is refused', (path) => {
  expect(() => partsOfPath(path)).toThrow(expect.objectContaining({ code: 'Refused' }))
})
