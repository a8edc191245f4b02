import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type KubeObject, type Lease, resources } from '../../src/kube/index.ts'
import { profileLabel } from '../../src/profiles/index.ts'
import { ensureDefaultAccount, eventually, temporaryFolder } from '../support/e2e-cluster.ts'
import { type FettleProcess, startFettle } from '../support/fettle-process.ts'
import { patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const file = `intervals: {requeue: 1s}
instances:
  check: [{type: hasLabel, name: wanted, config: {key: e2e/wanted}}]
profiles:
- name: p
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {deadline: 1s}
`
const token = 'canary-of-replicas'
/** Both have the same port, each at the address that its pod is said to have. */
const addresses = { one: '127.0.0.1', two: '127.0.0.2' } as const
type Name = keyof typeof addresses

async function startReplicas(context: TestContext, ground: QueueGround) {
  const folder = temporaryFolder(context)
  writeFileSync(join(folder, 'maintenance.yaml'), file)
  writeFileSync(join(folder, 'token'), `${token}\n`)
  const port = await freePort()
  await ensureDefaultAccount(ground)
  const start = async (name: Name): Promise<FettleProcess> => {
    await announce(ground, name)
    const process = startFettle(
      [
        ...['controller', '--kubeconfig', adminKubeconfig(ground.record), '--namespace', ground.namespace],
        ...['--lease-seconds', '4', '--http-host', addresses[name], '--http-port', String(port)],
        ...['--profiles', join(folder, 'maintenance.yaml'), '--http-token-file', join(folder, 'token')],
        ...['--metrics-timeout', '2m'],
      ],
      { env: { POD_NAME: name }, deadlineMs: 300_000 },
    )
    context.onTestFinished(async () => {
      process.signal('SIGKILL')
      await process.finished
    })
    await process.untilSaid('"msg":"started"')
    return process
  }
  const ask = async (name: Name, path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`http://${addresses[name]}:${port}${path}`, { headers })).text()
  }
  return { start, ask, info: async (name: Name) => JSON.parse(await ask(name, '/api/v1/info')) as unknown }
}

/** A pod that nobody starts, for its address alone. */
async function announce({ admin, namespace }: QueueGround, name: Name): Promise<void> {
  const spec = { schedulerName: 'nobody', containers: [{ name: 'none', image: 'none.invalid/none' }] }
  await admin.create(resources.pods, { metadata: { name, namespace }, spec } as KubeObject)
  const body = { status: { podIP: addresses[name], podIPs: [{ ip: addresses[name] }] } }
  await admin.patch(resources.pods, { name, namespace }, { type: 'merge', body }, { subresource: 'status' })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, addresses.one, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('each replica tells what the leader knows, and the last figures are fetched before one ends', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode({ labels: { [profileLabel]: 'p', 'e2e/wanted': 'true' } })
  const { start, ask, info } = await startReplicas(context, ground)
  const one = await start('one')
  await one.untilSaid('"msg":"leadership acquired"')
  const two = await start('two')
  const nodeAsSeenBy = async (name: Name) => {
    const all = (await info(name)) as readonly { node: string; profiles: readonly { name: string; state: string }[] }[]
    return all.find((each) => each.node === node)?.profiles.map(({ name: profile, state }) => [profile, state])
  }
  const expected = [['p', 'maintenance-required']]
  await eventually(async () => expect(await nodeAsSeenBy('one')).toEqual(expected), patient)
  await eventually(async () => expect(await nodeAsSeenBy('two')).toEqual(expected), patient)

  const gauges = /^fettle_profile_(nodes|overdue)\{profile="p"/m
  const overdue = /^fettle_profile_overdue\{profile="p"\} 1$/m
  await eventually(async () => expect(await ask('one', '/metrics')).toMatch(overdue), patient)
  expect(await ask('one', '/metrics')).toContain('fettle_profiles_active 1\n')
  const standby = await ask('two', '/metrics')
  expect(standby).not.toMatch(gauges)
  expect(standby).toContain('fettle_profiles_active 0\n')

  await ground.admin.delete(
    resources.pods,
    { name: 'one', namespace: ground.namespace },
    { uid: 'any', gracePeriodSeconds: 0 },
  )
  await eventually(
    async () =>
      expect(await info('two')).toEqual({
        error: expect.stringMatching(/^the replica that leads cannot be asked: there is no pod one with an address$/),
      }),
    patient,
  )

  one.signal('SIGTERM')
  await two.untilSaid('"msg":"leadership acquired"')
  await eventually(async () => expect(await nodeAsSeenBy('two')).toEqual(expected), patient)
  const lease = await ground.admin.get<Lease>(resources.leases, {
    name: 'fettle-controller',
    namespace: ground.namespace,
  })
  expect(lease.spec?.holderIdentity).toMatch(/^two_/)
  expect(one.said()).not.toContain('"msg":"stopped"')
  const last = await ask('one', '/metrics')
  expect(last).toContain('maintenance_controller_transition_failure_count')
  expect(last).toMatch(/^fettle_profile_transitions\{profile="p",state="maintenance-required"\} 1$/m)
  // How nodes are, the other one knows from now on.
  expect(last).not.toMatch(gauges)
  expect(last).toContain('fettle_profiles_active 0\n')
  await eventually(async () => expect(await ask('two', '/metrics')).toMatch(overdue), patient)
  expect((await one.finished).code).toBe(0)
  expect(`${one.said()}${two.said()}`).not.toContain(token)
}, 240_000)
