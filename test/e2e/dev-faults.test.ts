import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  bringUp,
  type ClusterRecord,
  connectTo,
  controlPlaneProgram,
  freezeComponent,
  issueExpirableToken,
  killComponent,
  places,
  restartComponents,
  statusOf,
  takeDown,
} from '../../src/dev/index.ts'
import { type KubeClient, type KubeObject, resources } from '../../src/kube/index.ts'
import { temporaryHome } from '../support/fettle-process.ts'
import { ask } from '../support/plain-request.ts'
import { plainReport } from '../support/shared-cluster.ts'

const home = temporaryHome()
const name = 'faulty'
let record: ClusterRecord
let program: string
let client: KubeClient

beforeAll(async () => {
  vi.stubEnv('FETTLE_HOME', home.path)
  program = await controlPlaneProgram(plainReport(), places())
  record = await bringUp({ name, simulatedNodes: 1, zones: 1, realNodes: 0 }, plainReport())
  client = await connectTo(record)
  await client.create<KubeObject>(resources.configMaps, { metadata: { namespace: 'default', name: 'witness' } })
})
afterAll(async () => {
  client?.close()
  await takeDown(name, plainReport())
  vi.unstubAllEnvs()
  await home.remove()
})

const dead = async () => (await statusOf(name)).components.filter(({ pid }) => pid === null).map((one) => one.name)
const witness = () => client.get(resources.configMaps, { namespace: 'default', name: 'witness' })

describe.each(['kube-apiserver', 'etcd'] as const)('%s, killed', (component) => {
  test('is dead alone, and nothing is answered', async () => {
    await killComponent(record, component)
    expect(await dead()).toEqual([component])
    expect(await ask(record, '/api/v1/namespaces/default/configmaps/witness', { withinMs: 3_000 })).not.toMatchObject({
      status: 200,
    })
    expect((await statusOf(name)).state).toBe('degraded')
  })

  test('cannot be killed twice', async () => {
    await expect(killComponent(record, component)).rejects.toThrow(`${component} of cluster ${name} does not run`)
  })

  test('comes back with everything that was stored', async () => {
    await restartComponents(record, program)
    expect(await dead()).toEqual([])
    expect((await witness()).metadata.name).toBe('witness')
    expect((await statusOf(name)).state).toBe('running')
  })
})

describe('a frozen API server', () => {
  test('keeps connections open and answers nothing until it is thawed', async () => {
    expect(await ask(record, '/readyz')).toMatchObject({ status: 200 })
    const thaw = await freezeComponent(record, 'kube-apiserver')
    const asked = ask(record, '/readyz', { withinMs: 30_000 })
    const first = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1_500, 'silence'))])
    expect(first).toBe('silence')
    thaw()
    expect(await asked).toMatchObject({ status: 200 })
  })

  test('ends with the cluster even while it is frozen', async () => {
    await freezeComponent(record, 'kube-scheduler')
    await killComponent(record, 'kube-scheduler')
    expect(await dead()).toEqual(['kube-scheduler'])
    await restartComponents(record, program)
  })
})

describe('an expirable token', () => {
  test('is somebody until it expires, and nobody from then on', async () => {
    const account = { namespace: 'default', name: 'guest' }
    await client.create<KubeObject>(resources.serviceAccounts, { metadata: account })
    const expirable = await issueExpirableToken(client, account)
    const { token } = expirable
    // Known, but without any right.
    expect(await ask(record, '/api/v1/nodes', { token })).toMatchObject({ status: 403 })
    await expirable.expire()
    expect(await ask(record, '/api/v1/nodes', { token })).toMatchObject({ status: 401 })
  })
})
