import { randomBytes } from 'node:crypto'
import { expect, type TestContext, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  inService,
  patient,
  prepareQueue,
  type QueueGround,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const sentence = 'this node belongs to somebody else'
const unschedulable = (object: string) => `${object}.spec.?unschedulable.orValue(false)`

/** A policy by which nobody may cordon the node, nor uncordon it. Answers what lifts it. */
async function forbidCordons(test: TestContext, ground: QueueGround, name: string): Promise<() => Promise<void>> {
  const { admin } = ground
  const metadata = { name: `e2e-${randomBytes(4).toString('hex')}` }
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }
  const expression = `${unschedulable('object')} == ${unschedulable('oldObject')}`
  const policy = {
    matchConstraints: { resourceRules: [{ ...rule, resourceNames: [name] }] },
    validations: [{ expression, message: sentence }],
  }
  const binding = { policyName: metadata.name, validationActions: ['Deny'] }
  const kinds = [resources.validatingAdmissionPolicies, resources.validatingAdmissionPolicyBindings] as const
  await admin.create(kinds[0], { metadata, spec: policy } as KubeObject)
  await admin.create(kinds[1], { metadata, spec: binding } as KubeObject)
  const isForbidden = async () => {
    const body = { spec: { unschedulable: (await ground.node(name)).spec?.unschedulable ? null : true } }
    const refusal = await admin.patch(resources.nodes, { name }, { type: 'merge', body }, { dryRun: true }).then(
      () => '',
      (error: unknown) => String(error),
    )
    return refusal.includes(sentence)
  }
  await eventually(async () => expect(await isForbidden()).toBe(true), patient)
  let isThere = true
  const lift = async () => {
    if (!isThere) return
    isThere = false
    for (const kind of kinds) {
      const { uid = '' } = (await admin.get(kind, metadata)).metadata
      await admin.delete(kind, metadata, { uid })
    }
    await eventually(async () => expect(await isForbidden()).toBe(false), patient)
  }
  test.onTestFinished(lift)
  return lift
}

const message: unknown = expect.stringContaining(sentence)
const refusal: unknown = expect.objectContaining({ type: 'NodeRefused', status: 'True', reason: 'Invalid', message })

test('a policy against the cordon is told on the request, once; it goes on by itself when the policy is lifted', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const lift = await forbidCordons(context, ground, node)
  const notes: string[] = []
  await ground.startQueue({ recorder: { record: ({ reason, note }) => void notes.push(`${reason} ${note}`) } })
  const { metadata } = await ground.ask(node)
  const told = await eventually(async () => {
    const one = await ground.request(metadata.name)
    expect(one.status).toMatchObject({ phase: 'Claimed', conditions: expect.arrayContaining([refusal]) })
    return one.metadata.resourceVersion
  }, patient)
  await stays(async () => expect((await ground.request(metadata.name)).metadata.resourceVersion).toBe(told), 12_000)
  expect(notes.filter((note) => note.startsWith('MaintenanceRefused'))).toEqual([expect.stringContaining(sentence)])
  expect(await cordonOf(ground, node)).toEqual(inService)

  await lift()
  const granted = await ground.untilPhase(metadata.name, 'Granted')
  expect(granted.status?.conditions?.map(({ type }) => type)).not.toContain('NodeRefused')
})

test('a policy against the way back holds the request after the deadline of the return, and a retry ends it', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const { metadata } = await ground.ask(node, { deadlines: { return: '1s' } })
  await ground.untilPhase(metadata.name, 'Granted')
  const lift = await forbidCordons(context, ground, node)
  await ground.want(metadata.name, 'Return')
  const held = await ground.untilPhase(metadata.name, 'Held')
  expect(held.status?.held).toMatchObject({ from: 'Finishing', reason: 'Unhealthy' })
  expect(held.status?.held?.message).toContain(sentence)
  expect((await cordonOf(ground, node)).isUnschedulable).toBe(true)

  await lift()
  await ground.say(metadata.name, 'retry', 'the policy is lifted')
  expect((await ground.untilPhase(metadata.name, 'Done')).status?.outcome).toBe('Completed')
  expect(await cordonOf(ground, node)).toEqual(inService)
})
