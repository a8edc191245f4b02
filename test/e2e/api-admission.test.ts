import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { budgetName, maintenanceBudgets, maintenanceRequests } from '../../src/api/index.ts'
import { policyManifests } from '../../src/cli/install-manifests.ts'
import { peopleManifests } from '../../src/cli/install-people.ts'
import { controllerRbacManifests } from '../../src/cli/install-rbac.ts'
import { type ConnectedClient, isNotFound, type KubeObject, resources } from '../../src/kube/index.ts'
import { type Loose, uniqueName, useApiObjects } from '../support/api-objects.ts'
import { bindClusterRole, eventually, type Ground, prepareGround, type Test } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, writeKubeconfig } from '../support/e2e-identity.ts'

/** Several people with different roles, and the policies of an installation, on the real API server. */
const api = useApiObjects()

/** Generous: the machine may be busy, and nothing here is about speed. */
const patient = { withinMs: 60_000, everyMs: 200 } as const

const roles = ['fettle-view', 'fettle-operator', 'fettle-admin', 'fettle-controller'] as const
type Role = (typeof roles)[number]
interface Person {
  readonly name: string
  readonly client: ConnectedClient
}

const people = new Map<Role, Person>()
const cleanUps: (() => unknown)[] = []
/** What is made for the whole file goes when the file is over. */
const file: Test = { onTestFinished: (cleanUp) => void cleanUps.push(cleanUp as () => unknown) }

const placement = { namespace: 'fettle-system', version: '0.0.0', managedBy: 'e2e' }
const manifests = [
  ...peopleManifests(placement),
  ...controllerRbacManifests(placement).filter(({ resource }) => resource.kind === 'ClusterRole'),
  ...policyManifests(placement),
]

beforeAll(async () => {
  const ground = await prepareGround(file)
  const { admin } = ground
  for (const { resource, object } of manifests) {
    await admin.apply(resource, object, { fieldManager: 'e2e', force: true })
    cleanUps.push(() => admin.delete(resource, { name: object.metadata.name ?? '' }, { uid: 'any' }))
  }
  for (const role of roles) people.set(role, await personWith(ground, role))
  // Policies and roles reach the API server's own view some time after they are stored.
  await eventually(
    async () => expect(await answerTo(ask('fettle-operator', { priority: 1 }))).toContain('prioritize'),
    patient,
  )
  await eventually(() => ask('fettle-admin', { priority: 1 }), patient)
  await eventually(async () => expect(await answerTo(setBudget('fettle-operator', {}))).toContain('forbidden'), patient)
})

afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

async function personWith(ground: Ground, role: Role): Promise<Person> {
  const name = `${role}-of-${ground.namespace}`
  const kubeconfig = writeKubeconfig(file, ground, { ...adminEntries(ground).user, as: name })
  await bindClusterRole(file, ground.admin, role, { kind: 'User', name })
  return { name, client: await connectWith(file, kubeconfig) }
}

function person(role: Role): Person {
  const found = people.get(role)
  if (!found) throw new Error(`nobody has the role ${role}`)
  return found
}

const exampleSpec = (spec: object): object => ({
  nodeName: 'node-7',
  nodeUID: 'uid-of-node-7',
  source: { kind: 'Person', key: randomBytes(3).toString('hex') },
  reason: 'e2e',
  work: 'External',
  ...spec,
})

/** A dry run: the policies are asked, and nothing is stored. */
function ask(role: Role, spec: object, annotations: Record<string, string> = {}): Promise<KubeObject> {
  const request = { metadata: { name: uniqueName(), annotations }, spec: exampleSpec(spec) } as KubeObject
  return person(role).client.create(maintenanceRequests, request, { dryRun: true })
}

function annotate(
  role: Role,
  name: string,
  annotations: Record<string, string | null>,
  dryRun = true,
): Promise<KubeObject> {
  const patch = { type: 'merge', body: { metadata: { annotations } } } as const
  return person(role).client.patch(maintenanceRequests, { name }, patch, { dryRun })
}

function setBudget(role: Role, annotations: Record<string, string | null>, dryRun = true): Promise<KubeObject> {
  const patch = { type: 'merge', body: { metadata: { annotations } } } as const
  return person(role).client.patch(maintenanceBudgets, { name: budgetName }, patch, { dryRun })
}

/** What the API server says, or that it accepted. */
async function answerTo(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'accepted',
    (error: unknown) => String(error),
  )
}

describe('the policies', () => {
  test('are well typed: the API server has no warning about any expression', async () => {
    for (const { resource, object } of policyManifests(placement)) {
      if (resource.kind !== 'ValidatingAdmissionPolicy') continue
      await eventually(async () => {
        const { metadata, status } = await api().admin.get<Loose>(resource, { name: object.metadata.name ?? '' })
        expect(status?.['observedGeneration']).toBe(metadata.generation)
        expect(status?.['typeChecking'] ?? {}).toEqual({})
      }, patient)
    }
  })

  test('are affordable: everything at once is evaluated and accepted from who may', async () => {
    const { name } = person('fettle-admin')
    const drain = { onDeadline: 'ForceDelete', backend: 'Delete', unmanaged: 'Evict' }
    const spec = { priority: 1000, bypassWindow: 'x'.repeat(256), requestedBy: name, drain }
    const annotations = { 'fettle.dev/verb': 'abort', 'fettle.dev/verb-reason': 'x'.repeat(256) }
    await ask('fettle-admin', spec, { ...annotations, 'fettle.dev/verb-by': name })
  })
})

describe('a request', () => {
  test('is created by operators and by no viewer', async () => {
    await ask('fettle-operator', { priority: -5, windows: ['night'], drain: { onDeadline: 'Hold', backend: 'Auto' } })
    expect(await answerTo(ask('fettle-view', {}))).toContain('cannot create resource "maintenancerequests"')
  })

  test.for([
    ['spec.bypassWindow', 'bypass', { bypassWindow: 'the disk is on fire' }],
    ['spec.drain.onDeadline ForceDelete', 'forcedelete', { drain: { onDeadline: 'ForceDelete' } }],
    ['spec.drain.backend Delete', 'forcedelete', { drain: { backend: 'Delete' } }],
    ['spec.drain.unmanaged Evict', 'forcedelete', { drain: { unmanaged: 'Evict' } }],
    ['spec.drain.onDeadline Continue', 'continue', { drain: { onDeadline: 'Continue' } }],
    ['a spec.priority above 0', 'prioritize', { priority: 1 }],
  ] as const)('with %s needs the verb %s', async ([what, verb, spec]) => {
    const { name } = person('fettle-operator')
    const refused = ask('fettle-operator', spec)
    await expect(refused).rejects.toMatchObject({ code: 'Forbidden' })
    expect(await answerTo(refused)).toContain(
      `${name} may not set ${what}: it needs the verb ${verb} on maintenancerequests.fettle.dev, which ClusterRole fettle-admin has; or leave it out`,
    )
    await ask('fettle-admin', spec)
  })

  test('says truly who asks, or nothing', async () => {
    const { name } = person('fettle-operator')
    await ask('fettle-operator', { requestedBy: name })
    expect(await answerTo(ask('fettle-operator', { requestedBy: 'somebody-else' }))).toContain(
      `spec.requestedBy must be your own user name, ${name}, or left out`,
    )
    expect(await answerTo(ask('fettle-admin', { requestedBy: name }))).toContain('must be your own user name')
  })

  test('is raised in the line only by who may, and lowered by everybody who may change it', async () => {
    const { metadata } = await api().createRequest({ priority: 5 })
    const setPriority = (role: Role, priority: number) =>
      person(role).client.patch(
        maintenanceRequests,
        { name: metadata.name },
        { type: 'merge', body: { spec: { priority } } },
        { dryRun: true },
      )
    expect(await answerTo(setPriority('fettle-operator', 6))).toContain('prioritize')
    await setPriority('fettle-operator', 4)
    await setPriority('fettle-operator', -1)
    await setPriority('fettle-admin', 6)
  })

  test('made by who may is changed by those who may not make it', async () => {
    const { metadata } = await api().createRequest({
      priority: 7,
      bypassWindow: 'now',
      drain: { onDeadline: 'Continue', backend: 'Delete' },
    })
    const patch = { type: 'merge', body: { spec: { want: 'Return' } } } as const
    await person('fettle-operator').client.patch(maintenanceRequests, { name: metadata.name }, patch, { dryRun: true })
    const finalizers = { type: 'merge', body: { metadata: { finalizers: ['fettle.dev/give-back'] } } } as const
    await person('fettle-controller').client.patch(maintenanceRequests, { name: metadata.name }, finalizers, {
      dryRun: true,
    })
  })
})

describe('a verb', () => {
  test.for([
    ['retry', true],
    ['release', true],
    ['skip', true],
    ['abort', false],
  ] as const)('%s is said by administrators, and by operators: %s', async ([verb, isOperators]) => {
    const { metadata } = await api().createRequest()
    const say = { 'fettle.dev/verb': verb, 'fettle.dev/verb-reason': 'disk replaced' }
    await annotate('fettle-admin', metadata.name, say)
    const answer = await answerTo(annotate('fettle-operator', metadata.name, say))
    if (isOperators) expect(answer).toBe('accepted')
    else
      expect(answer).toContain(
        `${person('fettle-operator').name} may not ${verb} a request: it needs the verb ${verb} on maintenancerequests.fettle.dev, which ClusterRole fettle-admin has`,
      )
    // To work through the queue is not to be a person.
    expect(await answerTo(annotate('fettle-controller', metadata.name, say))).toContain(`may not ${verb} a request`)
    expect(await answerTo(annotate('fettle-view', metadata.name, say))).toContain('cannot patch resource')
  })

  test('cannot come with the request from who may not say it', async () => {
    expect(await answerTo(ask('fettle-operator', {}, { 'fettle.dev/verb': 'abort' }))).toContain('may not abort')
  })

  test.for([
    [{ 'fettle.dev/verb': 'explode' }, 'fettle.dev/verb can be retry, release, skip or abort'],
    [{ 'fettle.dev/verb': 'retry', 'fettle.dev/verb-by': 'somebody-else' }, 'must be your own user name'],
    [{ 'fettle.dev/verb-reason': 'because' }, 'say more about fettle.dev/verb; set it as well'],
    [{ 'fettle.dev/verb-by': 'somebody-else' }, 'say more about fettle.dev/verb; set it as well'],
    [{ 'fettle.dev/verb': 'retry', 'fettle.dev/verb-reason': 'x'.repeat(257) }, 'at most 256 characters'],
  ] as const)('is refused as %j', async ([annotations, sentence]) => {
    const { metadata } = await api().createRequest()
    const refused = annotate('fettle-operator', metadata.name, annotations)
    await expect(refused).rejects.toMatchObject({ code: 'Invalid' })
    expect(await answerTo(refused)).toContain(sentence)
  })

  test('is taken away by the controller and by who may say it, and replaced by nobody who may do less', async () => {
    const { metadata } = await api().createRequest()
    const admin = person('fettle-admin').name
    const said = { 'fettle.dev/verb': 'abort', 'fettle.dev/verb-reason': 'stop', 'fettle.dev/verb-by': admin }
    await annotate('fettle-admin', metadata.name, said, false)
    const gone = { 'fettle.dev/verb': null, 'fettle.dev/verb-reason': null, 'fettle.dev/verb-by': null }
    expect(await answerTo(annotate('fettle-operator', metadata.name, gone))).toContain('may take fettle.dev/verb away')
    const other = { 'fettle.dev/verb': 'retry', 'fettle.dev/verb-by': person('fettle-operator').name }
    expect(await answerTo(annotate('fettle-operator', metadata.name, other))).toContain('may take fettle.dev/verb away')
    // In somebody else's name, or with other words, it would be another order.
    for (const change of [{ 'fettle.dev/verb-reason': 'go on' }, { 'fettle.dev/verb-by': null }])
      expect(await answerTo(annotate('fettle-operator', metadata.name, change))).toContain('may not abort')
    await annotate('fettle-operator', metadata.name, { 'example.com/note': 'seen' })
    await annotate('fettle-admin', metadata.name, gone)
    await annotate('fettle-controller', metadata.name, gone)
  })
})

describe('the release of a slot', () => {
  async function withBudget(): Promise<void> {
    const { admin } = api()
    await admin.delete(maintenanceBudgets, { name: budgetName }, { uid: 'any' }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    const { metadata } = await admin.create(maintenanceBudgets, { metadata: { name: budgetName }, spec: {} } as Loose)
    onTestFinished(() => admin.delete(maintenanceBudgets, { name: budgetName }, { uid: metadata.uid ?? '' }))
  }

  test('is ordered by administrators, answered by the controller, and refused to all others', async () => {
    await withBudget()
    const admin = person('fettle-admin').name
    const order = { 'fettle.dev/release-slot': 'uid-of-node-7', 'fettle.dev/release-reason': 'its request is gone' }
    expect(await answerTo(setBudget('fettle-operator', order))).toContain('cannot patch resource "maintenancebudgets"')
    await eventually(
      async () =>
        expect(await answerTo(setBudget('fettle-controller', order))).toContain(
          'may not free a slot: it needs the verb release on maintenancebudgets.fettle.dev, which ClusterRole fettle-admin has',
        ),
      patient,
    )
    expect(await answerTo(setBudget('fettle-admin', { ...order, 'fettle.dev/release-by': 'jdoe' }))).toContain(
      `fettle.dev/release-by must be your own user name, ${admin}, or left out`,
    )
    await setBudget('fettle-admin', { ...order, 'fettle.dev/release-by': admin }, false)
    const gone = {
      'fettle.dev/release-slot': null,
      'fettle.dev/release-reason': null,
      'fettle.dev/release-by': null,
    }
    await setBudget('fettle-controller', gone, false)
  })
})

test('who may view the cluster sees requests, too', async () => {
  interface Rules extends KubeObject {
    readonly rules?: readonly { readonly apiGroups?: readonly string[]; readonly resources?: readonly string[] }[]
  }
  await eventually(async () => {
    const { rules } = await api().admin.get<Rules>(resources.clusterRoles, { name: 'view' })
    expect(rules?.find(({ apiGroups }) => apiGroups?.includes('fettle.dev'))?.resources).toContain(
      'maintenancerequests',
    )
  }, patient)
})
