import { expect, test } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import type { ConnectedClient } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import type { CliContext } from './context.ts'
import { untilHeard } from './until-heard.ts'

const request = {
  metadata: { name: 'r', uid: 'u', resourceVersion: '1' },
  spec: { nodeName: 'node-7' },
  status: { phase: 'Held' },
} as MaintenanceRequest

/** An API server on which nothing happens any more. */
const client = {
  async *list() {
    yield { items: [request], resourceVersion: '1' }
  },
  async *watch() {
    yield await new Promise<never>(() => undefined)
  },
} as unknown as ConnectedClient

test('a controller that does not answer is waited for two minutes, and then it is told what to look at', async () => {
  const clock = new FakeClock()
  const context: CliContext = {
    out: () => undefined,
    err: () => undefined,
    progress: { write: () => undefined },
    nowMs: () => clock.now(),
    signal: new AbortController().signal,
    exitCode: () => undefined,
  }
  const end = untilHeard(client, request, () => true, context, clock).then(
    () => 'heard',
    (error: Error) => error.message,
  )
  const early = Promise.race([end, clock.advance(119_000).then(() => 'still waiting')])
  expect(await early).toBe('still waiting')
  await clock.advance(1_000)
  expect(await end).toMatchInlineSnapshot(
    `"the controller has not answered for 2 minutes; what r was told stays, and is done once it runs: \`fettle explain r\` tells what is to come, and \`kubectl get pods -n fettle-system\` whether a controller runs"`,
  )
})
