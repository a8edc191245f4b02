import { expect, test } from 'vitest'
import { parseCheckChain } from '../chains/check-chain.ts'
import { passOf } from '../fixture-pass.ts'
import type { CheckChain } from '../plugin.ts'
import { evaluateChain } from './evaluate-chain.ts'

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
