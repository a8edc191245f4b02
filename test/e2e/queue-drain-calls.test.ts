import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { createPdb, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

const pods = 100

test('100 pods of which few may be out at a time leave with at most two calls for each, and none is evicted twice', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const pool = { 'e2e.fettle.dev/pool': namespace }
  const node = await ground.addNode({ labels: pool })
  const app = 'guarded'
  await admin.create(resources.replicaSets, {
    metadata: { name: app, namespace },
    spec: {
      replicas: pods,
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: { nodeSelector: pool, containers: [{ name: 'main', image: 'none.invalid/nothing' }] },
      },
    },
  } as KubeObject)
  const before = await ground.untilRunning(node, app, pods)
  // Where they go to: it comes only now, so that all of them began on the other one.
  await ground.addNode({ labels: pool })
  await createPdb(ground, 'tight', app, { maxUnavailable: 10 })
  const [calls, accepted] = [[] as string[], [] as string[]]
  const counting = interceptWrites(admin, async (write, send) => {
    if (!write.startsWith('evict ')) return send()
    calls.push(write)
    const answer = await send()
    accepted.push(write)
    return answer
  })
  await ground.startQueue({ client: counting })
  const { metadata } = await ground.ask(node)
  await eventually(async () => expect((await ground.request(metadata.name)).status?.phase).toBe('Granted'), {
    withinMs: 180_000,
    everyMs: 200,
  })
  expect(accepted.toSorted()).toEqual(before.map((pod) => `evict ${pod.metadata.uid}`).toSorted())
  // On top of that: ten early questions, and one now and then over the time that a busy machine takes.
  expect(calls.length).toBeLessThanOrEqual(2 * pods + 20)
}, 300_000)
