import { expect, test } from 'vitest'
import type { KubeClient, ResourceCache } from '../kube/index.ts'
import { systemClock } from '../time/index.ts'
import { node, permission, present, quietView, request, requestFile, slot } from './fixture-world.ts'
import type { ScriptRequest } from './host-view.ts'
import { runAgent } from './run-agent.ts'

/** A script that works here has asked for a reboot, and the intention is stored. Something may happen while it is read back. */
async function ordersGiven(whileAsking: (scripts: ScriptRequest[]) => void): Promise<number> {
  const scripts: ScriptRequest[] = [{ name: 'kernel', reason: '', rebootFrom: 'boot-1' }]
  const intent = { rebootIntent: { token: 5, fromBootID: 'boot-1' } }
  const rebooting = request('n1-file-0', {
    phase: 'Rebooting',
    slot: slot(),
    host: { ...intent, tokens: { highest: 5 } },
  })
  const stop = new AbortController()
  let orders = 0
  const requests = {
    values: () => [rebooting],
    stats: () => ({ isConnected: true }),
    isSynced: true,
    subscribe: () => () => undefined,
  } as unknown as ResourceCache<typeof rebooting>
  const client = {
    apply: async () => rebooting,
    get: async () => {
      whileAsking(scripts)
      return rebooting
    },
  } as unknown as KubeClient
  const view = { ...quietView, request: present(), permission: permission(), highestToken: 5 }
  setTimeout(() => stop.abort(new Error('the test is over')), 100)
  await runAgent(
    {
      node,
      rules: { requestFile, mayReboot: true, maxRebootsPerDay: 5 },
      host: {
        look: async () => ({ ...view, scripts: [...scripts] }),
        writePermission: async () => undefined,
        deletePermission: async () => undefined,
        storeHighestToken: async () => undefined,
        reboot: async () => {
          orders++
        },
        watch: () => undefined,
      },
      client,
      requests,
      clock: systemClock,
      pollMs: 60_000,
      log: { info: () => undefined, warn: () => undefined },
    },
    stop.signal,
  )
  return orders
}

test('a reboot that a script wants is ordered, once', async () => {
  expect(await ordersGiven(() => undefined)).toBe(1)
})

test('a script that takes its wish back in the last moment is not rebooted under its feet', async () => {
  expect(await ordersGiven((scripts) => scripts.splice(0, 1, { name: 'kernel', reason: '' }))).toBe(0)
})
