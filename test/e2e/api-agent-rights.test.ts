import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type MaintenanceRequestStatus, maintenanceRequests } from '../../src/api/index.ts'
import { policyManifests } from '../../src/cli/install-manifests.ts'
import { agentName, nodesNamespace } from '../../src/cli/install-names.ts'
import { agentRbacManifests } from '../../src/cli/install-rbac.ts'
import {
  type ConnectedClient,
  connect,
  fixedCredential,
  type Impersonation,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  type Resource,
  resources,
  Secret,
} from '../../src/kube/index.ts'
import { type Loose, useApiObjects } from '../support/api-objects.ts'
import {
  bindClusterRole,
  boundPod,
  createAccount,
  eventually,
  prepareGround,
  type Test,
} from '../support/e2e-cluster.ts'
import { listOf } from '../support/queue-cluster.ts'

/** An agent's token, as somebody has it who broke into the node, against the rights of an installation. */
const api = useApiObjects()

/** Generous: the machine may be busy, and nothing here is about speed. */
const patient = { withinMs: 60_000, everyMs: 200 } as const

interface Node {
  readonly name: string
  readonly uid: string
}

interface Stage {
  /** Where the installation lies. */
  readonly namespace: string
  readonly elsewhere: string
  readonly own: Node
  readonly other: Node
  /** A request for the other node. */
  readonly victim: string
  /** The token of the own node, which is stolen. */
  readonly agent: ConnectedClient
  readonly agentAs: (impersonate: Impersonation) => ConnectedClient
  /** The same account, but a token that belongs to no pod. */
  readonly homeless: ConnectedClient
  /** An account of the same name elsewhere, on the own node, with every right by mistake. */
  readonly mighty: ConnectedClient
  /** Every right, no pod, and a name that only ends like an agent's. */
  readonly namesake: ConnectedClient
}

let prepared: Stage | undefined
const cleanUps: (() => unknown)[] = []
/** What is made for the whole file goes when the file is over. */
const file: Test = { onTestFinished: (cleanUp) => void cleanUps.push(cleanUp as () => unknown) }

function stage(): Stage {
  if (!prepared) throw new Error('the stage is set before the first test, not before that')
  return prepared
}

beforeAll(async () => {
  const ground = await prepareGround(file)
  const { admin, namespace } = ground
  await admin
    .create<KubeObject>(resources.namespaces, { metadata: { name: nodesNamespace } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  const placement = { namespace, version: '0.0.0', managedBy: 'e2e' }
  for (const { resource, object } of [...agentRbacManifests(placement), ...policyManifests(placement)]) {
    await admin.apply(resource, object, { fieldManager: 'e2e', force: true })
    cleanUps.push(() => remove(resource, object))
  }
  const [own, other] = [await addNode(), await addNode()]
  const elsewhere = await prepareGround(file)
  for (const name of [agentName, `not-${agentName}`]) {
    const account = { kind: 'ServiceAccount', ...(await createAccount(elsewhere, name)) }
    await bindClusterRole(file, admin, 'cluster-admin', account)
  }
  const as = (token: string, impersonate?: Impersonation) => {
    const credentials = fixedCredential({ token: new Secret(token) })
    const client = connect(
      { ...ground.config, credentials, ...(impersonate ? { impersonate } : {}) },
      { component: 'e2e' },
    )
    cleanUps.push(() => client.close())
    return client
  }
  const stolen = await tokenOnNode(namespace, own)
  prepared = {
    namespace,
    elsewhere: elsewhere.namespace,
    own,
    other,
    victim: (await add(maintenanceRequests, requestFor(other))).metadata.name ?? '',
    agent: as(stolen),
    agentAs: (impersonate) => as(stolen, impersonate),
    homeless: as(await token(namespace, agentName)),
    mighty: as(await tokenOnNode(elsewhere.namespace, own)),
    namesake: as(await token(elsewhere.namespace, `not-${agentName}`)),
  }
  // Roles and policies reach the API server's own view some time after they are stored.
  const { agent, mighty, namesake, victim } = prepared
  await eventually(() => Promise.all([agent, mighty, namesake].map((client) => ask(client, {}))), patient)
  await eventually(async () => {
    expect(await answerTo(ask(agent, requestFor(other)))).toContain('its own node only')
    expect(await answerTo(report(agent, victim, { host: {} }))).toContain('its own node only')
    expect(await answerTo(beat(agent, other.name))).toContain('keeps one Lease')
  }, patient)
})

afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

async function add(resource: Resource, object: KubeObject): Promise<KubeObject> {
  const created = await api().admin.create(resource, object)
  cleanUps.push(() => remove(resource, created))
  return created
}

async function remove(resource: Resource, { metadata }: KubeObject): Promise<void> {
  const { name = '', namespace } = metadata
  const ref = { name, ...(namespace ? { namespace } : {}) }
  await api()
    .admin.delete(resource, ref, { uid: 'any', gracePeriodSeconds: 0 })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
}

async function addNode(): Promise<Node> {
  // Dots, as many nodes have them: they mean nothing special in a name.
  const { metadata } = await add(resources.nodes, { metadata: { name: `a-${randomBytes(4).toString('hex')}.e2e` } })
  return { name: metadata.name ?? '', uid: metadata.uid ?? '' }
}

async function tokenOnNode(namespace: string, node: Node): Promise<string> {
  const pod = boundPod(namespace, 'agent', node.name)
  const { metadata } = await add(resources.pods, {
    ...pod,
    spec: { ...pod.spec, serviceAccountName: agentName },
  } as KubeObject)
  return token(namespace, agentName, { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid })
}

async function token(namespace: string, account: string, boundObjectRef?: object): Promise<string> {
  const reply = await api().admin.request<{ readonly status: { readonly token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef } },
  })
  return reply.status.token
}

interface Change {
  readonly metadata?: object
  readonly spec?: object
}

function requestFor(node: Node, { metadata, spec }: Change = {}): Loose {
  return {
    metadata: { name: `${node.name}-file-0`, ...metadata },
    spec: {
      nodeName: node.name,
      nodeUID: node.uid,
      source: { kind: 'File', key: '/var/maintenance-required' },
      reason: 'kernel 6.12.9',
      work: 'Host',
      ...spec,
    },
  }
}

const forReboot = { source: { kind: 'Reboot', key: 'kernel' }, work: 'Reboot' }

/** A dry run: the policies are asked, and nothing is stored. */
function ask(client: ConnectedClient, change: Change): Promise<Loose> {
  return client.create(maintenanceRequests, requestFor(stage().own, change), { dryRun: true })
}

/** As the agent does it. */
function report(client: ConnectedClient, name: string, status: object, dryRun = true): Promise<Loose> {
  const said = { metadata: { name }, status } as Loose
  return client.apply(maintenanceRequests, said, {
    fieldManager: agentName,
    force: true,
    subresource: 'status',
    dryRun,
  })
}

function leaseOf(name: string, namespace: string = nodesNamespace, metadata: object = {}): KubeObject {
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  return { metadata: { name, namespace, ...metadata }, spec: { renewTime } } as KubeObject
}

function beat(client: ConnectedClient, name: string, namespace?: string, metadata?: object): Promise<KubeObject> {
  return client.create(resources.leases, leaseOf(name, namespace, metadata), { dryRun: true })
}

/** A request of the own node, gone when the test is over. */
async function ownRequest(): Promise<string> {
  const { metadata } = await stage().agent.create(maintenanceRequests, requestFor(stage().own))
  onTestFinished(() => remove(maintenanceRequests, { metadata }))
  return metadata.name ?? ''
}

/** What the API server says, or that it accepted. */
async function answerTo(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'accepted',
    (error: unknown) => String(error),
  )
}

async function expectForbidden(attempt: Promise<unknown>, sentence: string): Promise<void> {
  expect(await answerTo(attempt)).toContain(sentence)
  await expect(attempt).rejects.toMatchObject({ code: 'Forbidden' })
}

const at = '2026-01-01T00:00:00Z'

/** A word on everything that is the controller's to say. */
const lies: Required<Omit<MaintenanceRequestStatus, 'host'>> = {
  observedGeneration: 7,
  phase: 'Granted',
  since: at,
  outcome: 'Completed',
  waiting: { for: 'Order', message: 'not yet', since: at },
  slot: { token: 42, ledgerUID: 'ledger', takenAt: at },
  drain: { startedAt: at, total: 1, left: 0, blockedBy: [] },
  held: { from: 'Claimed', reason: 'NodeLost', message: 'silent' },
  requeue: { count: 1, notBefore: at, isPending: false },
  dismissedFailure: 'no disk',
  released: { as: 'Released' },
  reboots: { count: 1 },
  history: Array.from({ length: 50 }, () => ({
    time: at,
    phase: 'Queued' as const,
    reason: 'Asked',
    message: 'x'.repeat(256),
  })),
  conditions: [{ type: 'Drained', status: 'True', reason: 'Empty', message: 'no pod is left', lastTransitionTime: at }],
}
const fields = Object.entries(lies)

describe('an agent', () => {
  test('asks for its node, because of a file and to reboot, and sees what became of it', async () => {
    const { agent, own } = stage()
    const name = await ownRequest()
    const reboot = await agent.create(
      maintenanceRequests,
      requestFor(own, { metadata: { name: `${own.name}-reboot-9` }, spec: forReboot }),
    )
    onTestFinished(() => remove(maintenanceRequests, reboot))
    const mine = await listOf(agent, maintenanceRequests, { fieldSelector: `spec.nodeName=${own.name}` })
    expect(mine.map(({ metadata }) => metadata.name)).toEqual([name, reboot.metadata.name])
    await agent.get(maintenanceRequests, { name })
  })

  test('reports before the controller has written anything, and after it has written everything', async () => {
    const { agent } = stage()
    const name = await ownRequest()
    const first = await report(agent, name, { host: { request: 'Present', bootID: 'one' } }, false)
    expect(first.status).toEqual({ phase: 'Queued', host: { request: 'Present', bootID: 'one' } })
    await api().writeStatus(maintenanceRequests, name, lies)
    const next = await report(agent, name, { host: { request: 'Absent', tokens: { highest: 42 } } }, false)
    expect(next.status).toEqual({ ...lies, host: { request: 'Absent', tokens: { highest: 42 } } })
    const put = { ...next, status: { ...lies, host: { permission: 'Absent' } } } as Loose
    expect((await agent.replace(maintenanceRequests, put, { subresource: 'status' })).status).toEqual(put.status)
  })

  test('keeps the heartbeat of its node', async () => {
    const { agent, own } = stage()
    const created = await agent.create(resources.leases, leaseOf(own.name))
    onTestFinished(() => remove(resources.leases, created))
    const found = await agent.get(resources.leases, { name: own.name, namespace: nodesNamespace })
    await agent.replace(resources.leases, { ...found, ...leaseOf(own.name), metadata: found.metadata })
  })
})

describe('a stolen token asks in vain', () => {
  const onlyOwn = ({ own }: Stage, seen: Node) =>
    `an agent asks for its own node only: ${own.name} with UID ${own.uid}, not ${seen.name} with UID ${seen.uid}`
  const badName = ({ own }: Stage, kind: string) =>
    `the name of this request must be ${own.name}-${kind}- and one digit, not `
  const badSource = 'an agent asks with source.kind File and work Host, or with source.kind Reboot and work Reboot'
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'node-7', uid: 'uid-of-node-7' }
  const notSet = (path: string, change: Change) =>
    [JSON.stringify(change), () => change, () => `${path} is not for an agent to set; leave it out`] as const
  const named = (name: (stage: Stage) => string, spec: object = {}) => {
    return (stage: Stage): Change => ({ metadata: { name: name(stage) }, spec })
  }

  test.for<readonly [string, (stage: Stage) => Change, (stage: Stage) => string]>([
    ['another node', ({ other }) => requestFor(other), (stage) => onlyOwn(stage, stage.other)],
    [
      'a node of the same name that came later',
      () => ({ spec: { nodeUID: 'later' } }),
      (stage) => onlyOwn(stage, { ...stage.own, uid: 'later' }),
    ],
    ['the name of another node', named(({ other }) => `${other.name}-file-0`), (stage) => badName(stage, 'file')],
    ['an eleventh name', named(({ own }) => `${own.name}-file-10`), (stage) => badName(stage, 'file')],
    ['a letter for a digit', named(({ own }) => `${own.name}-file-a`), (stage) => badName(stage, 'file')],
    ['no digit', named(({ own }) => `${own.name}-file`), (stage) => badName(stage, 'file')],
    ['a dot that is none', named(({ own }) => `${own.name.replace('.', '-')}-file-0`), (s) => badName(s, 'file')],
    ['the name of a reboot for a file', named(({ own }) => `${own.name}-reboot-0`), (s) => badName(s, 'file')],
    ['the name of a file for a reboot', () => ({ spec: forReboot }), (stage) => badName(stage, 'reboot')],
    ['a person', () => ({ spec: { source: { kind: 'Person', key: 'jdoe' }, work: 'External' } }), () => badSource],
    ['a reboot because of a file', () => ({ spec: { work: 'Reboot' } }), () => badSource],
    ['work by somebody else', () => ({ spec: { work: 'External' } }), () => badSource],
    notSet('spec.want', { spec: { want: 'Return' } }),
    notSet('spec.priority', { spec: { priority: 1 } }),
    notSet('spec.priority', { spec: { priority: -1 } }),
    notSet('spec.service', { spec: { service: { drain: false } } }),
    notSet('spec.service', { spec: { service: { cordon: false } } }),
    notSet('spec.bypassWindow', { spec: { bypassWindow: 'now' } }),
    notSet('spec.windows', { spec: { windows: ['night'] } }),
    notSet('spec.drain', { spec: { drain: { onDeadline: 'ForceDelete' } } }),
    notSet('spec.drain', { spec: { drain: {} } }),
    notSet('spec.deadlines', { spec: { deadlines: { maxReboots: 100 } } }),
    [
      'spec.requestedBy',
      ({ elsewhere }) => ({ spec: { requestedBy: `system:serviceaccount:${elsewhere}:${agentName}` } }),
      () => 'spec.requestedBy is not for an agent to set; leave it out',
    ],
    notSet('metadata.annotations', { metadata: { annotations: { 'fettle.dev/verb': 'release' } } }),
    notSet('metadata.annotations', { metadata: { annotations: { note: 'mine' } } }),
    notSet('metadata.labels', { metadata: { labels: { note: 'mine' } } }),
    notSet('metadata.finalizers', { metadata: { finalizers: ['example.com/never'] } }),
    notSet('metadata.ownerReferences', { metadata: { ownerReferences: [owner] } }),
    notSet('metadata.generateName', { metadata: { generateName: 'any-' } }),
  ])('with %s', async ([, change, sentence]) => {
    const { agent, mighty } = stage()
    expect(await answerTo(ask(agent, change(stage())))).toContain('denied request')
    // Who has every other right is refused by this one alone, so this sentence is what is read.
    expect(await answerTo(ask(mighty, change(stage())))).toContain(sentence(stage()))
  })

  test('a thousand times: twenty requests is all that a node can have', async () => {
    const { agent, own } = stage()
    onTestFinished(async () => {
      for (const one of await mine()) await remove(maintenanceRequests, one)
    })
    const mine = () => listOf(api().admin, maintenanceRequests, { fieldSelector: `spec.nodeName=${own.name}` })
    const attempts = Array.from({ length: 500 }, (_, index) => [
      requestFor(own, { metadata: { name: `${own.name}-file-${index}` } }),
      requestFor(own, { metadata: { name: `${own.name}-reboot-${index}` }, spec: forReboot }),
    ]).flat()
    const refusals: string[] = []
    for (let done = 0; done < attempts.length; done += 20) {
      const some = attempts.slice(done, done + 20).map((request) => agent.create(maintenanceRequests, request))
      const answers = await Promise.all(some.map(answerTo))
      refusals.push(...answers.filter((answer) => answer !== 'accepted'))
    }
    expect(refusals.filter((answer) => !answer.includes('and one digit'))).toEqual([])
    expect(refusals.length).toBe(980)
    expect((await mine()).length).toBe(20)
  })
})

describe('a stolen token reports in vain', () => {
  test('on another node', async () => {
    const { agent, own, other, victim } = stage()
    await expectForbidden(
      report(agent, victim, { host: { request: 'Absent' } }),
      `an agent reports on its own node only: ${own.name} with UID ${own.uid}, not ${other.name} with UID ${other.uid}`,
    )
  })

  test('on a node of the same name that came later', async () => {
    const { agent, own } = stage()
    const { metadata } = await api().createRequest({ nodeName: own.name, nodeUID: 'later' })
    await expectForbidden(report(agent, metadata.name, { host: {} }), `not ${own.name} with UID later`)
  })

  test.for(fields)('what status.%s is', async ([field, lie]) => {
    const { agent } = stage()
    const name = await ownRequest()
    const sentence = `an agent reports in status.host; status.${field} belongs to the controller`
    await expectForbidden(report(agent, name, { host: {}, [field]: lie }), sentence)
    await api().writeStatus(maintenanceRequests, name, lies)
    const patch = { type: 'merge', body: { status: { [field]: null } } } as const
    await expectForbidden(
      agent.patch(maintenanceRequests, { name }, patch, { subresource: 'status', dryRun: true }),
      sentence,
    )
  })

  test('that there is no status', async () => {
    const name = await ownRequest()
    const { status: _, ...without } = await api().writeStatus(maintenanceRequests, name, lies)
    await expectForbidden(
      stage().agent.replace<KubeObject>(maintenanceRequests, without, { subresource: 'status', dryRun: true }),
      'belongs to the controller',
    )
  })

  test('and says something else along with it: that is not heard', async () => {
    const name = await ownRequest()
    const before = await api().admin.get<Loose>(maintenanceRequests, { name })
    const metadata = {
      annotations: { 'fettle.dev/verb': 'release' },
      finalizers: ['example.com/never'],
      labels: { a: 'b' },
    }
    const body = { metadata, spec: { priority: 1000, want: 'Return' }, status: { host: { failure: 'x' } } }
    const patch = { type: 'merge', body } as const
    const after = await stage().agent.patch<Loose>(maintenanceRequests, { name }, patch, { subresource: 'status' })
    expect(after.spec).toEqual(before.spec)
    expect(after.metadata).not.toHaveProperty('annotations')
    expect(after.metadata).not.toHaveProperty('finalizers')
    expect(after.metadata).not.toHaveProperty('labels')
  })
})

describe('a stolen token beats in vain', () => {
  test('for another node', async () => {
    const { agent, own, other } = stage()
    const sentence = `an agent keeps one Lease, fettle-nodes/${own.name}, not fettle-nodes/${other.name}`
    await expectForbidden(beat(agent, other.name), sentence)
  })

  test.for([
    { finalizers: ['example.com/never'] },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-7', uid: 'uid-of-node-7' }] },
  ])('with %j', async (metadata) => {
    const { agent, own } = stage()
    const sentence = `metadata.${Object.keys(metadata)[0]} is not for an agent to set; leave it out`
    await expectForbidden(beat(agent, own.name, nodesNamespace, metadata), sentence)
  })
})

describe('a stolen token may not', () => {
  const ours = '/apis/fettle.dev/v1alpha1'
  const inNamespace = (name: string) => `/api/v1/namespaces/${name}`
  const leasesIn = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/${name}/leases`

  // Rights are asked for before anything of the body is read, so none is needed.
  test.for<readonly [string, string, 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', (stage: Stage) => string]>([
    ['delete', 'maintenancerequests', 'DELETE', ({ victim }) => `${ours}/maintenancerequests/${victim}`],
    ['delete', 'maintenancerequests', 'DELETE', ({ own }) => `${ours}/maintenancerequests/${own.name}-file-0`],
    ['deletecollection', 'maintenancerequests', 'DELETE', () => `${ours}/maintenancerequests`],
    ['patch', 'maintenancerequests', 'PATCH', ({ own }) => `${ours}/maintenancerequests/${own.name}-file-0`],
    ['update', 'maintenancerequests', 'PUT', ({ own }) => `${ours}/maintenancerequests/${own.name}-file-0`],
    ['get', 'maintenancebudgets', 'GET', () => `${ours}/maintenancebudgets/cluster`],
    ['patch', 'maintenancebudgets', 'PATCH', () => `${ours}/maintenancebudgets/cluster`],
    ['update', 'maintenancebudgets/status', 'PUT', () => `${ours}/maintenancebudgets/cluster/status`],
    ['delete', 'maintenancefreezes', 'DELETE', () => `${ours}/maintenancefreezes/all`],
    ['create', 'leases', 'POST', ({ namespace }) => leasesIn(namespace)],
    ['get', 'leases', 'GET', ({ namespace }) => `${leasesIn(namespace)}/fettle-controller`],
    ['update', 'leases', 'PUT', ({ namespace }) => `${leasesIn(namespace)}/fettle-controller`],
    ['update', 'leases', 'PUT', ({ own }) => `${leasesIn('kube-node-lease')}/${own.name}`],
    ['delete', 'leases', 'DELETE', ({ own }) => `${leasesIn(nodesNamespace)}/${own.name}`],
    ['list', 'secrets', 'GET', () => '/api/v1/secrets'],
    ['get', 'secrets', 'GET', ({ namespace }) => `${inNamespace(namespace)}/secrets/fettle-blockers`],
    ['list', 'pods', 'GET', () => '/api/v1/pods'],
    ['get', 'pods', 'GET', ({ namespace }) => `${inNamespace(namespace)}/pods/agent`],
    ['create', 'pods/eviction', 'POST', ({ namespace }) => `${inNamespace(namespace)}/pods/agent/eviction`],
    ['get', 'nodes', 'GET', ({ own }) => `/api/v1/nodes/${own.name}`],
    ['patch', 'nodes', 'PATCH', ({ own }) => `/api/v1/nodes/${own.name}`],
    ['patch', 'nodes/status', 'PATCH', ({ own }) => `/api/v1/nodes/${own.name}/status`],
    [
      'create',
      'serviceaccounts/token',
      'POST',
      ({ namespace }) => `${inNamespace(namespace)}/serviceaccounts/${agentName}/token`,
    ],
    [
      'delete',
      'validatingadmissionpolicies',
      'DELETE',
      () => '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/fettle-agent-requests',
    ],
  ])('%s %s', async ([verb, resource, method, path]) => {
    await expectForbidden(
      stage().agent.request({ method, path: path(stage()) }),
      `cannot ${verb} resource "${resource}"`,
    )
  })

  test('speak in the name of somebody else, nor of another node', async () => {
    const { agentAs, namespace, other } = stage()
    const person = agentAs({ user: 'jdoe-at-example' })
    await expectForbidden(ask(person, {}), 'cannot impersonate')
    const neighbour = agentAs({
      user: `system:serviceaccount:${namespace}:${agentName}`,
      extra: {
        'authentication.kubernetes.io/node-name': [other.name],
        'authentication.kubernetes.io/node-uid': [other.uid],
      },
    })
    await expectForbidden(ask(neighbour, requestFor(other)), 'cannot impersonate')
  })
})

describe('the account of an agent', () => {
  const noNode = 'the token names no node; an agent uses the token of its pod, which Kubernetes binds to the node'

  test('writes nothing with a token that belongs to no pod', async () => {
    const { homeless, own } = stage()
    const name = await ownRequest()
    await expectForbidden(ask(homeless, {}), noNode)
    await expectForbidden(report(homeless, name, { host: {} }), noNode)
    await expectForbidden(beat(homeless, own.name), noNode)
  })

  test('stays within its node in every namespace, whatever roles it has by mistake', async () => {
    const { mighty, own, namespace } = stage()
    const name = await ownRequest()
    await expectForbidden(
      mighty.patch(
        maintenanceRequests,
        { name },
        { type: 'merge', body: { spec: { want: 'Return' } } },
        { dryRun: true },
      ),
      'an agent changes no request; what it has to say belongs into status.host',
    )
    await expectForbidden(
      beat(mighty, own.name, namespace),
      `an agent keeps one Lease, fettle-nodes/${own.name}, not ${namespace}/${own.name}`,
    )
    await beat(mighty, own.name)
  })

  test('is known by its whole name: others are not bound', async () => {
    const { namesake, other, namespace } = stage()
    await ask(namesake, requestFor(other, { metadata: { name: 'any' }, spec: { priority: 5 } }))
    await beat(namesake, 'any', namespace)
  })
})
