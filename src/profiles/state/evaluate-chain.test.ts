import { expect, test } from 'vitest'
import { parseCheckChain } from '../chains/check-chain.ts'
import { passOf } from '../fixture-pass.ts'
import type { CheckChain } from '../plugin.ts'
import { evaluateChain, whyNoLonger } from './evaluate-chain.ts'
import type { ChainResult, CheckResult } from './result.ts'

/** Of checks that pass but for b; `error` cannot tell. */
function chainOf(expression: string): { readonly chain: CheckChain; readonly ran: readonly string[] } {
  const parsed = parseCheckChain(expression)
  if ('message' in parsed) throw new Error(parsed.message)
  const ran: string[] = []
  const checks = parsed.names.map(({ name }) => ({
    name,
    type: 'turn',
    instance: {
      check: () => {
        ran.push(name)
        if (name === 'error') throw new Error('cannot tell')
        return { isPassed: name !== 'b', info: {} }
      },
    },
  }))
  return { chain: { expression, checks, evaluate: (answers) => parsed.evaluate(answers) }, ran }
}

test.for<[string, boolean, readonly string[]]>([
  ['a && a && a', true, ['a', 'a', 'a']],
  ['a && b && a && b', false, ['a', 'b', 'a', 'b']],
  ['b && a', false, ['b', 'a']],
  ['a || b', true, ['a', 'b']],
])('%s passes: %s, and each name is asked as often as it is there', async ([expression, isPassed, asked]) => {
  const { chain, ran } = chainOf(expression)
  expect(await evaluateChain(chain, passOf())).toMatchObject({ expression, isPassed })
  expect(ran).toEqual(asked)
})

test.for(['a && error && a && a', 'a || error || a || a'])(
  '%s: who cannot tell spoils the chain, whatever the others say, and they are asked all the same',
  async (expression) => {
    const { chain, ran } = chainOf(expression)
    const result = await evaluateChain(chain, passOf())
    expect(result).toMatchObject({ isPassed: false, error: 'error: cannot tell' })
    expect(ran).toEqual(['a', 'error', 'a', 'a'])
    expect(result.checks[1]).toEqual({ name: 'error', type: 'turn', isPassed: false, info: {}, error: 'cannot tell' })
  },
)

const chainWith = (
  isPassed: boolean,
  ...checks: readonly (readonly [string, boolean, CheckResult['info']?])[]
): ChainResult => ({
  expression: 'any',
  isPassed,
  checks: checks.map(([name, passed, info = {}]): CheckResult => ({ name, type: 'turn', isPassed: passed, info })),
})

test.for<[string, ChainResult, string | undefined]>([
  ['nothing if it passes', chainWith(true, ['a', true], ['room', true]), undefined],
  [
    'who is counted now, and by which check',
    chainWith(false, ['a', true], ['room', false, { nodes: ['n1', 'n2', 'n3'] }]),
    'other nodes were first: n2, n3; room (turn) says no now',
  ],
  [
    'some of them, if they are many',
    chainWith(false, ['a', true], ['room', false, { nodes: ['n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8'] }]),
    'other nodes were first: n2, n3, n4, n5, n6 and 2 more; room (turn) says no now',
  ],
  [
    'every check that answers otherwise',
    chainWith(false, ['a', false], ['room', false]),
    'other nodes were first; a (turn) says no now, room (turn) says no now',
  ],
  ['what cannot be told', { ...chainWith(false), error: 'room: cannot tell' }, 'room: cannot tell'],
])('why a chain no longer passes: %s', ([, now, why]) => {
  const before = chainWith(true, ['a', true], ['room', true, { nodes: ['n1'] }])
  expect(whyNoLonger(before, now)).toBe(why)
})
