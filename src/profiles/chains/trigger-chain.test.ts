import { expect, test } from 'vitest'
import { isReadByOriginal, parseTriggerChain } from './trigger-chain.ts'

test.for<[string, readonly string[]]>([
  ['', []],
  ['a', ['a']],
  ['a && b', ['a', 'b']],
  ['remove_approval && reboot-ok', ['remove_approval', 'reboot-ok']],
  ['t-1&&u', ['t-1', 'u']],
  ['  a  &&  b  ', ['a', 'b']],
  ['a && a', ['a', 'a']],
  ['tell @team', ['tell @team']],
  ['\ta\n&& b\n', ['a', 'b']],
])('%j is %j', ([text, names]) => {
  const parsed = parseTriggerChain(text)
  expect('message' in parsed ? parsed : parsed.map(({ name }) => name)).toEqual(names)
  if (!('message' in parsed)) for (const { name, offset } of parsed) expect(text.startsWith(name, offset)).toBe(true)
})

test.for<[string, number, RegExp]>([
  [' ', 0, /nothing but blanks/],
  ['\n', 0, /nothing but blanks/],
  ['a &&', 4, /a name is missing/],
  ['&& a', 0, /a name is missing/],
  ['a && && b', 4, /a name is missing/],
  ['a || b', 2, /\|\| means nothing; write &&/],
])('%j is refused', ([text, offset, message]) => {
  expect(parseTriggerChain(text)).toEqual({ offset, message: expect.stringMatching(message) })
})

test.for<[string, boolean]>([
  ['', true],
  ['a&&b', true],
  [' a && b ', true],
  ['a\n&& b', false],
  ['a &&\tb', false],
  ['a\n', false],
])('the original reads %j: %s', ([text, isRead]) => {
  const parsed = parseTriggerChain(text)
  expect('message' in parsed || isReadByOriginal(text, parsed)).toBe(isRead)
})
