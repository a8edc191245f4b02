import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { patient, prepareQueue, useCrds } from '../support/queue-cluster.ts'

useCrds()

test('volumes of a node that was empty from the start are waited for until the deadline, and again after a retry', async (context) => {
  const ground = await prepareQueue(context)
  const { admin } = ground
  const node = await ground.addNode()
  const ref = { name: `e2e-${node}` }
  const spec = { attacher: 'none.invalid', nodeName: node, source: { persistentVolumeName: 'pv-1' } }
  await admin.create(resources.volumeAttachments, { metadata: ref, spec } as KubeObject)
  context.onTestFinished(() => admin.delete(resources.volumeAttachments, ref, { uid: 'any' }))
  const attach = (attached: boolean) =>
    admin.patch(
      resources.volumeAttachments,
      ref,
      { type: 'merge', body: { status: { attached } } },
      { subresource: 'status' },
    )
  await attach(true)
  await ground.startQueue()
  const { metadata } = await ground.ask(node, { drain: { waitForVolumes: true, deadline: '1s' } })
  const message = 'all pods have left, but volumes are still attached: pv-1'
  await eventually(async () => {
    const { status } = await ground.request(metadata.name)
    expect(status?.drain).toMatchObject({ startedAt: expect.any(String), total: 0, left: 0 })
    expect(status?.conditions).toContainEqual(expect.objectContaining({ reason: 'VolumesAttached', message }))
  }, patient)
  const held = { reason: 'DrainDeadline', message: `volumes were not detached within 1s: ${message}` }
  expect((await ground.untilPhase(metadata.name, 'Held')).status?.held).toMatchObject(held)

  await ground.say(metadata.name, 'retry', 'they are on their way')
  await eventually(async () => {
    const { status } = await ground.request(metadata.name)
    const holds = status?.history?.filter(({ phase }) => phase === 'Held')
    expect(holds).toHaveLength(2)
  }, patient)
  await attach(false)
  await ground.say(metadata.name, 'retry', 'they are gone')
  await ground.untilPhase(metadata.name, 'Granted')
})
