import { expect, test } from 'vitest'
import { confirmByName } from './confirm.ts'
import type { CliContext } from './context.ts'

async function confirm(answer: string | undefined, isConfirmed = false): Promise<string> {
  let said = ''
  const context: CliContext = {
    out: () => undefined,
    err: (text) => (said += text),
    progress: { write: () => undefined },
    nowMs: () => 0,
    ask: async (question) => {
      said += question
      return answer
    },
    signal: new AbortController().signal,
    exitCode: () => undefined,
  }
  const failure = await confirmByName(context, { what: 'It burns.', name: 'node-7', isConfirmed }).catch(
    (error: Error) => error.message,
  )
  return failure === undefined ? said : `${said}fault: ${failure}`
}

test('whoever types the name goes on', async () => {
  expect(await confirm('node-7 ')).toBe('It burns.\nType node-7 to go on: ')
})

test('whoever types something else does not', async () => {
  expect(await confirm('yes')).toBe('It burns.\nType node-7 to go on: fault: that was not node-7. Nothing was changed.')
})

test('without a terminal it must be said beforehand', async () => {
  expect(await confirm(undefined)).toContain('fault: nobody is here to confirm this: say --yes. Nothing was changed.')
})

test('what was confirmed beforehand is told and not asked', async () => {
  expect(await confirm(undefined, true)).toBe('It burns.\n')
})
