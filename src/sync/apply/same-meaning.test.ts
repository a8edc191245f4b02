import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { isSameMeaning } from './same-meaning.ts'

test.for<[string, Json, Json | undefined, boolean]>([
  ['the same', 'a', 'a', true],
  ['another text', 'a', 'b', false],
  ['a quantity in other units', '1000m', '1', true],
  ['a quantity in binary units', '1024Mi', '1Gi', true],
  ['a quantity that is a number', 1, '1000m', true],
  ['another quantity', '1000m', '2', false],
  ['a number as a text', 80, '80', true],
  ['a rounded big integer', 9007199254740993n, 9007199254740992, true],
  ['an empty text that was left out', '', undefined, true],
  ['a zero that was left out', 0, undefined, true],
  ['a value that is missing', 'a', undefined, false],
  ['an empty object with defaults in it', {}, { type: 'x' }, true],
  ['null', null, 'anything', true],
  ['an empty text that became something', '', 'x', false],
  ['an object with defaults beside', { a: 1 }, { a: 1, b: 2 }, true],
  ['an object with something missing', { a: 1, b: 2 }, { a: 1 }, false],
  ['a list with defaults in its items', [{ a: 1 }], [{ a: 1, b: 2 }], true],
  ['a longer list', [1], [1, 2], false],
  ['another order', [1, 2], [2, 1], false],
  ['a container for a value', 'a', { a: 'a' }, false],
])('%s', ([, declared, live, expected]) => {
  expect(isSameMeaning(declared, live)).toBe(expected)
})
