import { expect, test } from 'vitest'
import { readRef, wantedText } from './wanted-ref.ts'

const id = '0123456789abcdef0123456789abcdef01234567'

test.for([
  [{}, { is: 'head' }, 'the default branch'],
  [{ branch: 'main' }, { is: 'branch', name: 'main', ref: 'refs/heads/main' }, 'branch main'],
  [
    { branch: 'team/a.b_c-d' },
    { is: 'branch', name: 'team/a.b_c-d', ref: 'refs/heads/team/a.b_c-d' },
    'branch team/a.b_c-d',
  ],
  [{ tag: 'v1' }, { is: 'tag', name: 'v1', ref: 'refs/tags/v1' }, 'tag v1'],
  [{ commit: id }, { is: 'commit', id }, 'commit 0123456789ab'],
  [{ commit: id, branch: 'main' }, { is: 'commit', id, branch: 'refs/heads/main' }, 'commit 0123456789ab'],
] as const)('%j is understood', ([choice, wanted, text]) => {
  expect(readRef(choice)).toEqual(wanted)
  expect(wantedText(readRef(choice))).toBe(text)
})

test.for([
  [{ tag: 'v1', branch: 'main' }, 'Name one of them'],
  [{ tag: 'v1', commit: id }, 'Name one of them'],
  [{ commit: id.slice(0, 12) }, 'whole id'],
  [{ commit: `${id}^` }, 'whole id'],
  [{ commit: id.toUpperCase() }, 'whole id'],
  ...[
    '',
    '@',
    '-x',
    'a..b',
    'a b',
    'a\nb',
    'a~1',
    'a^{tree}',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    'a@{1}',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.',
    'a.lock',
    'a/-b',
    'x'.repeat(201),
  ].flatMap((name) => [[{ branch: name }, 'name of a branch'] as const, [{ tag: name }, 'name of a tag'] as const]),
] as const)('%j is refused', ([choice, message]) => {
  expect(() => readRef(choice)).toThrow(message)
})
