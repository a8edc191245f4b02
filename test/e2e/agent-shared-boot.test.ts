import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type MaintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { liveOnce } from '../support/live-agent.ts'
import { ensureHeartbeatNamespace, MemoryHost, Power, simulatedKubelet } from '../support/memory-host.ts'
import { listOf, patient, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

test('a machine and two people who want it rebooted share one turn and one boot, whoever is granted it first', async (context) => {
  const ground = await prepareQueue(context)
  const { admin } = ground
  await ensureHeartbeatNamespace(admin)
  // Nobody may go before all have asked.
  await ground.setBudget({ max: 0 })
  const over = new AbortController()
  const fleet = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const name = await ground.addNode()
      const { metadata, status } = await ground.node(name)
      const power = new Power(status?.nodeInfo?.bootID ?? randomUUID(), simulatedKubelet(admin, name))
      const host = new MemoryHost({ power })
      const node = { name, uid: metadata.uid ?? '' }
      const agents = power.keepRunning(
        (signal) => liveOnce(admin, node, host, (_, send) => send(), signal),
        over.signal,
      )
      return { name, host, power, agents }
    }),
  )
  context.onTestFinished(async () => {
    over.abort(new Error('the test is over'))
    await Promise.all(fleet.map(({ agents }) => agents))
  })
  const requestsOf = (name: string) =>
    listOf<MaintenanceRequest>(admin, maintenanceRequests, { fieldSelector: `spec.nodeName=${name}` })
  await ground.startQueue()
  for (const { name, host } of fleet) {
    await host.needReboot()
    await eventually(async () => expect(await requestsOf(name)).toHaveLength(1), patient)
    await ground.ask(name, { work: 'Reboot' })
    await ground.ask(name, { work: 'Reboot' })
  }
  await ground.setBudget({ max: fleet.length, timing: { minReadySeconds: 0 } })
  for (const { name } of fleet)
    await eventually(async () => {
      const outcomes = (await requestsOf(name)).map(({ status }) => status?.outcome ?? status?.held?.reason)
      expect(outcomes, name).toEqual(['Completed', 'Completed', 'Completed'])
    }, patient)
  expect(fleet.map(({ power }) => power.boots)).toEqual(fleet.map(() => 1))
})
