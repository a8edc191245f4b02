import { expect, test } from 'vitest'
import { errorsIn, intervals, load, readAs } from './fixture-registry.ts'

const no = undefined

// Measured with the libraries of the original, but for what is marked as better.
test.for<[string, unknown, unknown, unknown, unknown, unknown]>([
  // written, text, flag, integer, duration, texts
  ['abc', 'abc', no, no, no, ['abc']],
  ['5.0', '5', no, 5, 5_000, ['5']],
  ['1e3', '1000', no, 1_000, 1_000_000, ['1000']],
  ['1e6', '1e+06', no, 1_000_000, 1e9, ['1e+06']],
  ['1234567.5', '1.2345675e+06', no, 1_234_567, 1_234_567_500, ['1.2345675e+06']],
  ['0.00001', '1e-05', no, 0, 0.01, ['1e-05']],
  ['0.0001', '0.0001', no, 0, 0.1, ['0.0001']],
  ['1e400', '1e400', no, no, no, ['1e400']],
  ['010', '8', no, 8, 8_000, ['8']],
  ['-010', '-8', no, -8, -8_000, ['-8']],
  ['0o10', '8', no, 8, 8_000, ['8']],
  ['0x10', '16', no, 16, 16_000, ['16']],
  ['0b11', '3', no, 3, 3_000, ['3']],
  ['09', '9', no, 9, 9_000, ['9']],
  ['1_000', '1000', no, 1_000, 1_000_000, ['1000']],
  ['+5', '5', no, 5, 5_000, ['5']],
  ['-1.5', '-1.5', no, -1, -1_500, ['-1.5']],
  ['1.5', '1.5', no, 1, 1_500, ['1.5']],
  ['5.7', '5.7', no, 5, 5_700, ['5.7']],
  ['18446744073709551615', '18446744073709551615', no, no, no, ['18446744073709551615']],
  ['18446744073709551616', '1.8446744073709552e+19', no, no, no, ['1.8446744073709552e+19']],
  ['.inf', '+Inf', no, no, no, ['+Inf']],
  ['11:00', '11:00', no, no, no, ['11:00']],
  ['1:30:00', '1:30:00', no, no, no, ['1:30:00']],
  ['2020-01-02', '2020-01-02', no, no, no, ['2020-01-02']],
  ['0x', '0x', no, no, no, ['0x']],
  ['True', 'true', true, no, no, ['true']],
  ['yes', 'true', true, no, no, ['true']],
  ['on', 'true', true, no, no, ['true']],
  ['n', 'false', false, no, no, ['false']],
  ['off', 'false', false, no, no, ['false']],
  ['1', '1', no, 1, 1_000, ['1']],
  ['0', '0', no, 0, 0, ['0']],
  ["'yes'", 'yes', no, no, no, ['yes']],
  ["'true'", 'true', true, no, no, ['true']],
  ["'TRUE'", 'TRUE', true, no, no, ['TRUE']],
  ["'t'", 't', true, no, no, ['t']],
  ["'1'", '1', true, 1, no, ['1']],
  ["'0'", '0', false, 0, 0, ['0']],
  ["'010'", '010', no, 8, no, ['010']],
  ["'0x10'", '0x10', no, 16, no, ['0x10']],
  ["'1_0'", '1_0', no, 10, no, ['1_0']],
  ["'-5'", '-5', no, -5, no, ['-5']],
  ["' 5'", ' 5', no, no, no, [' 5']],
  ["'5.7'", '5.7', no, no, no, ['5.7']],
  ["''", '', no, no, no, ['']],
  ['5m', '5m', no, no, 300_000, ['5m']],
  ['1.5h', '1.5h', no, no, 5_400_000, ['1.5h']],
  ['1d', '1d', no, no, no, ['1d']],
  ['!!str 5', '5', no, 5, no, ['5']],
  ["!!int '5'", '5', no, 5, 5_000, ['5']],
  ['!own 5', '5', no, 5, no, ['5']],
  ['!!binary aGk=', 'hi', no, no, no, ['hi']],
  ['"a\\tb"', 'a\tb', no, no, no, ['a\tb']],
  ['[a, 1, true, 5.0, null]', no, no, no, no, ['a', '1', 'true', '5', '']],
  ['[]', no, no, no, no, []],
  ['[[a]]', no, no, no, no, no],
  // Better: the original takes it for an empty list.
  ['{a: 1}', no, no, no, no, no],
])('%s', ([written, text, flag, integer, duration, texts]) => {
  expect(readAs('text', written)).toBe(text)
  expect(readAs('flag', written)).toBe(flag)
  expect(readAs('integer', written)).toBe(integer)
  expect(readAs('duration', written)).toBe(duration)
  expect(readAs('texts', written)).toEqual(texts)
})

test.for<[string, number | undefined]>([
  ['10m', 600_000],
  ['-10m', -600_000],
  ['0s', 0],
  ['10', no],
  ['1.5', no],
  ["'10'", no],
  ['1d', no],
  ["''", no],
  ['true', no],
  ['[10m]', no],
])('a duration that is held as text: %s', ([written, ms]) => {
  expect(readAs('durationText', written)).toBe(ms)
})

test.for(['text', 'flag', 'integer', 'duration', 'durationText', 'texts'] as const)(
  'null leaves %s as it would be without',
  (kind) => {
    const fallbacks = { text: '', flag: false, integer: 0, duration: 0, durationText: 0, texts: [] }
    for (const nothing of ['null', '~', '']) expect(readAs(kind, nothing)).toEqual(fallbacks[kind])
  },
)

const whole = { text: 'a', flag: 'true', integer: '1', duration: '1s', durationText: '1s', texts: '[a]' }

test.for<[Partial<Record<keyof typeof whole, string>>, string | undefined]>([
  [{}, undefined],
  [{ text: "''" }, 'text'],
  [{ text: 'null' }, 'text'],
  [{ integer: '0' }, 'integer'],
  [{ integer: '0.5' }, 'integer'],
  [{ integer: '-1' }, undefined],
  [{ duration: '0s' }, 'duration'],
  [{ duration: '-1s' }, undefined],
  [{ durationText: 'null' }, 'durationText'],
  // It is a text to the original, and that is not empty.
  [{ durationText: '0s' }, undefined],
  [{ texts: '[]' }, 'texts'],
  [{ texts: 'null' }, 'texts'],
  [{ flag: 'null' }, undefined],
  [{ flag: 'false' }, undefined],
])('what is needed must be there: %j', ([changed, missing]) => {
  const config = Object.entries({ ...whole, ...changed }).map(([key, value]) => `${key}: ${value}`)
  const loaded = load(`${intervals}instances: {check: [{type: needs, name: a, config: {${config.join(', ')}}}]}\n`)
  const paths = loaded.problems.filter(({ severity }) => severity === 'error').map(({ path }) => path)
  expect(paths).toEqual(missing === undefined ? [] : [`instances.check[0].config.${missing}`])
  if (missing !== undefined) expect(errorsIn(loaded)[0]).toMatch(/missing; write /)
})
