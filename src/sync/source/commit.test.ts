import { describe, expect, test } from 'vitest'
import { readCommit } from './commit.ts'

const sha = 'c'.repeat(40)
const header = (more = '') =>
  `tree ${'a'.repeat(40)}\nparent ${'b'.repeat(40)}\nparent ${'d'.repeat(40)}\nauthor Ada <ada@example.org> 1700000000 +0100\ncommitter Grace <g@example.org> 1700000060 -0800\n${more}`
const read = (message: string, more?: string) => readCommit(sha, Buffer.from(`${header(more)}\n${message}`))

test('a commit tells who wrote it, when it was committed and what came before', () => {
  expect(read('Add web\n')).toEqual({
    sha,
    author: 'Ada <ada@example.org>',
    at: '2023-11-14T22:14:20.000Z',
    subject: 'Add web',
    trailers: {},
    parents: ['b'.repeat(40), 'd'.repeat(40)],
  })
})

test.for([
  ['no message', '', ''],
  ['a subject of two lines', 'Add\nweb\n\nbody', 'Add web'],
  ['blank lines first', '\n\nAdd\n', 'Add'],
  ['Windows line ends', 'Add\r\n\r\nbody\r\n', 'Add'],
  ['characters that steer a terminal', 'Add\u001b[2J\u0007web\u202e!', 'Add [2J web!'],
] as const)('the subject with %s', ([, message, subject]) => {
  expect(read(message).subject).toBe(subject)
})

describe('trailers', () => {
  test.for([
    ['none in a subject alone', 'Fix: all\n', {}],
    [
      'those of the last paragraph',
      'Add\n\nbody\n\nSync-Allow-Deletes: 12\nSigned-off-by: Ada <a@b>\n',
      { 'Sync-Allow-Deletes': '12', 'Signed-off-by': 'Ada <a@b>' },
    ],
    ['not those of one before it', 'Add\n\nSync-Allow-Deletes: 12\n\nbody\n', {}],
    ['not in prose', 'Add\n\nSync-Allow-Deletes: 12\nis what I would write\n', {}],
    ['long ones on more lines', 'Add\n\nWhy: first\n  second\n', { Why: 'first second' }],
    ['repeated ones', 'Add\n\nSync-Skip: a\nSync-Skip: b\n', { 'Sync-Skip': 'a\nb' }],
    ['next to the note of a cherry-pick', `Add\n\nA: 1\n(cherry picked from commit ${sha})\n`, { A: '1' }],
    ['with Windows line ends', 'Add\r\n\r\nA: 1\r\nB: 2\r\n', { A: '1', B: '2' }],
    ['without control characters', 'Add\n\nA: 1\u001b[0m\n', { A: '1 [0m' }],
  ] as const)('%s', ([, message, trailers]) => {
    expect(read(message).trailers).toEqual(trailers)
  })
})

test('a message in another encoding is read in it', () => {
  const bytes = Buffer.concat([
    Buffer.from(`${header('encoding ISO-8859-1\n')}\n`),
    Buffer.from('Gr\xfc\xdfe', 'latin1'),
  ])
  expect(readCommit(sha, bytes).subject).toBe('Grüße')
})

test('an encoding that nobody knows is read as UTF-8', () => {
  expect(read('Grüße', 'encoding klingon\n').subject).toBe('Grüße')
})

test('a signature is no header of ours, and what it says neither', () => {
  expect(read('Add', 'gpgsig -----BEGIN\n author Eve <e@e> 1 +0000\n -----END\n').author).toBe('Ada <ada@example.org>')
})

test('a time beyond all calendars is none', () => {
  const bytes = Buffer.from(`tree a\nauthor A <a> 1 +0000\ncommitter A <a> 99999999999999999 +0000\n\nx`)
  expect(readCommit(sha, bytes).at).toBe('1970-01-01T00:00:00.000Z')
})

test('a commit of nobody is damaged', () => {
  expect(() => readCommit(sha, Buffer.from('tree a\n\nx'))).toThrow(expect.objectContaining({ code: 'Damaged' }))
})
