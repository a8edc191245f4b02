import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readExpression } from './value-expression.ts'

function isTrue(text: string, value = 1): boolean {
  const read = readExpression(text)
  if ('problem' in read) throw new Error(read.problem)
  return read.expression.isTrue(value)
}

test.for([
  ['value == 1', true],
  ['value < 1', false],
  ['value', true],
  ['value - 1', false],
  ['value in [1,2]', true],
] as const)('of the sample 1, %s: %s', ([text, expected]) => {
  expect(isTrue(text)).toBe(expected)
})

describe('operators, with value 6', () => {
  test.for([
    ['value != 6', false],
    ['value > 5', true],
    ['value >= 6', true],
    ['value <= 5', false],
    ['value in []', false],
    ['value in ["6"]', false],
    ['[1, [2]] == [1, [2]]', true],
    ['[1] == [1, 2]', false],
    ['"6" == value', true],
    ['value == "six"', false],
    ['true == "true"', true],
    ['value =~ "^[0-9]$"', true],
    ['value !~ "^[0-9]$"', false],
    ["'abc' =~ 'b'", true],
    ['`a\\d` == "a\\\\d"', true],
    ['"a" + "b" == "ab"', true],
    ['"2" + 3 == 5', true],
    ['"b" > "a"', true],
    ['"10" > 9', true],
    ['value + 2 * 3 == 12', true],
    ['(value + 2) * 3 == 24', true],
    ['value % 4 == 2', true],
    ['-value % 4 == -2', true],
    ['value / 4 == 1.5', true],
    ['1 / 0 > 1e300', true],
    ['2 ** 3 ** 2 == 64', true],
    ['-2 ** 2 == 4', true],
    ['value - 3 - 2 == 1', true],
    ['value & 3 == 2', true],
    ['value & 3', true],
    ['(value & 3) == 2', true],
    ['(value | 1) == 7', true],
    ['(value ^ 2) == 4', true],
    ['value << 2 == 24', true],
    ['value >> 1 == 3', true],
    ['1 << 64 == 0', true],
    ['1 << 63 < 0', true],
    ['1 << -1 == 0', true],
    // Whatever is no number is compared and joined as a text.
    ['5 < value < 7', false],
    ['value < [1]', true],
    ['true + 1 == "true1"', true],
    ['[1, 2] + "" == "[1 2]"', true],
    ['1 | 2 ^ 2 == 1', true],
    ['!value', false],
    ['!!value', true],
    ['!value == 0', true],
    ['- - value == value', true],
    ['value > 1 && value < 5', false],
    ['value > 1 || value < 5 && false', true],
    ['(value > 1 || value < 5) && false', false],
    ['value == 6 ? "true" : "false"', true],
    ['value == 5 ? true : value == 6 ? true : false', true],
    ['value == 5 ? true', false],
    ['0 ?? value', true],
    ['(value ?? 0) == 6', true],
    ['false ?? 0', false],
    ['true', true],
    ['.5 + 1.5e0 == 2', true],
    ['value\n  >\t5', true],
    ['value > 5 // too many', true],
    ['value // too\n > /* many */ 7', false],
    ['value /* is /* not */ == 6', true],
    // What is not closed reaches to the end.
    ['value /*/ > 7', true],
    ['"// a" == "// a"', true],
    ['value / 2 == 3//', true],
    ['value < 1_000_000 && value > 1_000.5_0', false],
    ['1_0e1_0 == 100000000000', true],
    ['.5_0 == 0_0.5', true],
    ['"ABC" =~ "(?i)b"', true],
    ['"ABC" !~ "(?i)b"', false],
    ['"ABC" =~ "b"', false],
    ['"B" =~ "(?i)a|b"', true],
    ['"A\\nC" =~ "(?is)a.c"', true],
    ['"A\\nC" =~ "(?iim)^c"', true],
  ] as const)('%s: %s', ([text, expected]) => {
    expect(isTrue(text, 6)).toBe(expected)
  })
})

test.for([
  ['value > 0', false],
  ['value < 0', false],
  ['value == value', false],
  ['value != value', true],
  // As in the original: it is not zero.
  ['value', true],
] as const)('what is no number compares with nothing: %s is %s', ([text, expected]) => {
  expect(isTrue(text, Number.NaN)).toBe(expected)
})

test('what decides alone leaves the other side alone', () => {
  expect(isTrue('false && [1]')).toBe(false)
  expect(isTrue('true || [1]')).toBe(true)
  expect(isTrue('1 ?? ("a" - 1)')).toBe(true)
})

test.for([
  ['', 'it ends where a value should come'],
  ['value >', 'it ends where a value should come'],
  ['value > > 1', '> at character 9 stands where a value should come; write for example value > 5'],
  ['value 5', '5 at character 7 stands where an operator should come; write for example value > 5'],
  ['(value', 'it ends where ) should come'],
  ['value)', ') at character 6 stands where an operator should come; write for example value > 5'],
  ['[1 2]', '2 at character 4 stands where , should come; write for example value > 5'],
  ['[1', 'it ends where , should come'],
  ['vale > 5', 'nobody knows vale at character 1; the sample is called value'],
  ['date(1)', 'nobody knows date at character 1; the sample is called value'],
  ['constructor', 'nobody knows constructor at character 1; the sample is called value'],
  ['value = 5', '"=" at character 7 means nothing in an expression'],
  ['// value', 'it ends where a value should come'],
  ['value /* > */ value', 'value at character 15 stands where an operator should come; write for example value > 5'],
  ['value > 1__0', '__0 at character 10 stands where an operator should come; write for example value > 5'],
  ['value > 1_', '_ at character 10 stands where an operator should come; write for example value > 5'],
  ['value =~ "(?i"', '"(?i" is no regular expression'],
  ['value == "a', 'the text that begins at character 10 has no closing "'],
  ['value in 5', 'in needs a list such as [1, 2] on its right, not 5'],
  ['value - "a"', '- needs numbers on both sides, not 1 and "a"'],
  ['-"a"', '- needs a number, not "a"'],
  ['value =~ 5', '=~ and !~ need a regular expression in quotes, not 5'],
  ['value =~ "("', '"(" is no regular expression'],
  ['"many"', '"many" is neither true nor false nor a number'],
  ['[value]', '[1] is neither true nor false nor a number'],
  ['1 & (1 / 0)', '& needs whole numbers, not Infinity'],
] as const)('%j is a problem: %s', ([text, problem]) => {
  expect(readExpression(text)).toEqual({ problem })
})

test.for(['('.repeat(5_000), '['.repeat(5_000), `${'!'.repeat(5_000)}1`, `${'1 ? '.repeat(5_000)}1`])(
  'nesting has an end',
  (text) => {
    expect(readExpression(text)).toEqual({ problem: expect.stringMatching(/nested deeper|too many/) })
  },
)

test.for([
  ['1 < value < 5', true],
  ['(1 < value) < 5 ? 1 : 0', true],
  ['[value > (1 >= 2)] == 1', true],
  ['1 < value && value < 5', false],
  ['(1 < value) == true', false],
] as const)('%s compares in a row: %s', ([text, isChain]) => {
  const warning = 'comparisons in a row do not mean what they look like; write 1 < value && value < 5'
  expect(readExpression(text)).toMatchObject({ warning: isChain ? warning : undefined })
})

test('a fault that only some values make is no problem of the expression', () => {
  const read = readExpression('1 & (1 / value)')
  if ('problem' in read) throw new Error(read.problem)
  expect(read.expression.isTrue(1)).toBe(true)
  expect(() => read.expression.isTrue(0)).toThrow('& needs whole numbers, not Infinity')
})

test('whatever is written, it is read or it is a problem', () => {
  const piece = fc.constantFrom(...'value 1 2.5 "a" true ( ) [ ] , ? : ?? || && == < in ** - ! & << =~'.split(' '))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join(' ')),
      ),
      (text) => {
        const read = readExpression(text)
        expect('problem' in read ? read.problem : 'fine').not.toBe('')
      },
    ),
    { numRuns: 1_000 },
  )
})

const arithmetic = {
  '+': (left: number, right: number) => left + right,
  '-': (left: number, right: number) => left - right,
  '*': (left: number, right: number) => left * right,
} as const

test('products come before sums, and both go from left to right', () => {
  const sign = fc.constantFrom('+', '-', '*')
  fc.assert(
    fc.property(fc.nat(50), fc.array(fc.tuple(sign, fc.nat(50)), { maxLength: 8 }), (first, rest) => {
      // Each product is one number of the sum.
      const sum: [keyof typeof arithmetic, number][] = [['+', first]]
      for (const [operator, operand] of rest) {
        const last = sum.at(-1)
        if (operator === '*' && last) last[1] *= operand
        else sum.push([operator, operand])
      }
      const expected = sum.reduce((total, [operator, operand]) => arithmetic[operator](total, operand), 0)
      const text = `${first}${rest.map(([operator, operand]) => ` ${operator} ${operand}`).join('')}`
      expect(isTrue(`${text} == value`, expected), text).toBe(true)
    }),
  )
})
