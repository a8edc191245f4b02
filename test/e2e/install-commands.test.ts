import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments, parseDocument } from 'yaml'
import { maintenanceBudgets } from '../../src/api/index.ts'
import {
  type ConnectedClient,
  connect,
  type KubeObject,
  loadKubeconfig,
  type NodeObject,
  resources,
} from '../../src/kube/index.ts'
import { eventually, requestToken, temporaryFolder } from '../support/e2e-cluster.ts'
import { type FettleResult, fettle, startFettle, type TemporaryHome, temporaryHome } from '../support/fettle-process.ts'
import { objectCount } from '../support/install-set.ts'

/** On simulated nodes, where no pod of ours may run: what is said and written, not what starts. */
let home: TemporaryHome
let admin: ConnectedClient
let kubeconfig: string

beforeAll(async () => {
  home = temporaryHome()
  const up = await fettle(['dev', 'up', '--name', 'install', '--nodes', '2'], { home: home.path })
  expect(up.stderr).toContain('2 nodes are ready')
  kubeconfig = join(home.path, 'clusters/install/kubeconfig')
  admin = connect(await loadKubeconfig({ path: kubeconfig }), { component: 'e2e' })
})

afterAll(async () => {
  admin?.close()
  await home?.remove()
})

/** Longer than the commands themselves wait for each part: what they say then is worth more than that they were killed. */
const deadlineMs = 250_000

async function run(...args: string[]): Promise<FettleResult> {
  return fettle([...args, '--kubeconfig', kubeconfig], { home: home.path, deadlineMs })
}

async function namesOf(resource: (typeof resources)['namespaces'], namespace?: string): Promise<string[]> {
  const names: string[] = []
  for await (const page of admin.list<KubeObject>(resource, namespace ? { namespace } : {}))
    names.push(...page.items.map(({ metadata }) => metadata.name ?? ''))
  return names.sort()
}

/** As an API server does that rests after a first try to let a kind go: until its definition changes. */
async function forgetUntilReminded(name: string): Promise<void> {
  const crds = resources.customResourceDefinitions
  const finalize = (finalizers: string[]) =>
    admin.patch(crds, { name }, { type: 'merge', body: { metadata: { finalizers } } })
  const { metadata } = await admin.get<KubeObject>(crds, { name })
  await finalize([...(metadata.finalizers ?? []), 'e2e.fettle.dev/forgotten'])
  await eventually(
    async () => {
      const { annotations = {} } = (await admin.get<KubeObject>(crds, { name })).metadata
      expect(Object.keys(annotations)).toContain('fettle.dev/uninstalled-at')
    },
    { withinMs: 60_000 },
  )
  await finalize([])
}

describe('fettle install', () => {
  test('prints its objects as YAML without asking any cluster', async () => {
    const printed = await fettle(['install', '-o', 'yaml'], { env: { KUBECONFIG: '/nowhere', HOME: home.path } })
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    const kinds = parseAllDocuments(printed.stdout).map((document) => document.get('kind'))
    expect(kinds).toHaveLength(objectCount)
    expect(kinds.slice(0, 3)).toEqual(['Namespace', 'Namespace', 'CustomResourceDefinition'])
  })

  test('tells in a dry run what it would create, and creates nothing', async () => {
    const dry = await run('install', '--dry-run')
    expect(dry.code).toBe(0)
    expect(dry.stdout).toContain('create    Deployment fettle-system/fettle-controller\n')
    expect(dry.stdout.split('\n').at(-2)).toBe(
      `${objectCount} to create, 0 to change, 0 as they should be; nothing was changed`,
    )
    expect(await namesOf(resources.namespaces)).not.toContain('fettle-system')
  })

  test('says why pods do not start when it waited in vain, and keeps them off simulated nodes', async () => {
    const waited = await run('install', '--timeout', '3')
    expect(waited.code).toBe(1)
    expect(waited.stderr).toContain('Deployment fettle-system/fettle-controller is not ready after 3 s: 0 of 2 pods')
    expect(waited.stderr).toContain('0/2 nodes are available')
    expect(waited.stderr).not.toMatch(/^\s+at /m)
  })

  test('changes nothing the second time, and only what differs the third', async () => {
    const again = await run('install', '--no-wait')
    expect(again.stderr).toContain(`${objectCount} objects: 0 created, 0 changed, ${objectCount} as they were`)
    const dry = await run('install', '--replicas', '3', '--dry-run')
    expect(dry.stdout.split('\n').filter((line) => line.startsWith('change'))).toEqual([
      'change    Deployment fettle-system/fettle-controller',
    ])
  })

  test('takes back what somebody changed by hand', async () => {
    const ref = { name: 'fettle-controller' }
    await admin.patch(resources.clusterRoles, ref, { type: 'merge', body: { rules: [] } })
    expect((await run('install', '--no-wait')).stderr).toContain(
      `0 created, 1 changed, ${objectCount - 1} as they were`,
    )
  })

  test('refuses a second installation in another namespace', async () => {
    const refused = await run('install', '--namespace', 'elsewhere', '--no-wait')
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toContain('say --namespace fettle-system')
    expect(await namesOf(resources.namespaces)).not.toContain('elsewhere')
  })

  test.each([
    [['--node-selector', 'no label'], 'Write label=value.'],
    [['--api-server', 'host'], 'Write host:port.'],
    [['--replicas', '8'], 'Write a whole number from 0 to 7.'],
    [['--original-lease-namespace', 'ops'], '--original-lease-namespace does nothing without --profiles'],
    [['--profiles-lease-namespace', 'ops'], '--profiles-lease-namespace does nothing without --profiles'],
  ])('refuses %j', async (flags, sentence) => {
    const refused = await run('install', ...flags)
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain(sentence)
  })
})

describe('fettle install --profiles', () => {
  const written = (text: string) => {
    const path = join(home.path, 'maintenance.yaml')
    writeFileSync(path, text)
    return path
  }

  test('refuses a file that could not be put in force, and changes nothing', async () => {
    const refused = await run('install', '--no-wait', '--profiles', written('intervals: {requeue: 0}\n'))
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toMatch(/maintenance\.yaml:1:\d+: error: intervals\.requeue: it is zero/)
    expect(await namesOf(resources.configMaps, 'fettle-system')).toEqual(['kube-root-ca.crt'])
  })

  test('brings the file, and rights where it keeps Leases', async () => {
    const text = 'intervals: {requeue: 30s}\n'
    const flags = ['--profiles', written(text), '--profiles-lease-namespace', 'kube-public']
    expect(await run('install', '--no-wait', ...flags)).toMatchObject({ code: 0 })
    const ref = { name: 'fettle-profiles', namespace: 'fettle-system' }
    expect(await admin.get<KubeObject>(resources.configMaps, ref)).toMatchObject({ data: { 'maintenance.yaml': text } })
    for (const namespace of ['fettle-system', 'kube-public'])
      expect(await namesOf(resources.roleBindings, namespace)).toContain('fettle-profiles')
  })
})

describe('fettle uninstall', { timeout: 300_000 }, () => {
  test('removes the budget although its finalizer has nobody left to answer it, and everything else', async () => {
    await admin.create<KubeObject>(maintenanceBudgets, {
      metadata: { name: 'cluster', finalizers: ['fettle.dev/ledger'] },
      ...{ spec: {} },
    })
    const [gone] = await Promise.all([
      run('uninstall', '--timeout', '60'),
      forgetUntilReminded('maintenancewindows.fettle.dev'),
    ])
    expect(gone, gone.stderr).toMatchObject({ code: 0, stdout: 'Fettle is gone\n' })
    const kinds = [
      'customResourceDefinitions',
      'validatingAdmissionPolicies',
      'validatingAdmissionPolicyBindings',
      'clusterRoles',
      'clusterRoleBindings',
      'namespaces',
    ] as const
    for (const kind of kinds)
      expect((await namesOf(resources[kind])).filter((name) => name.includes('fettle'))).toEqual([])
    // Also what lies in namespaces of others.
    expect(await namesOf(resources.roles, 'kube-public')).not.toContain('fettle-profiles')
    expect(await namesOf(resources.roleBindings, 'kube-public')).not.toContain('fettle-profiles')
  })

  test('of nothing says so and is no error', async () => {
    const again = await run('uninstall')
    expect(again, again.stderr).toMatchObject({ code: 0, stdout: '' })
    expect(again.stderr).toBe('Fettle is not installed in namespace fettle-system; nothing to do\n')
  })

  test('leaves a namespace alone that was there before', async () => {
    await admin.create<KubeObject>(resources.namespaces, { metadata: { name: 'platform' } })
    expect(await run('install', '--namespace', 'platform', '--no-wait')).toMatchObject({ code: 0 })
    const gone = await run('uninstall', '--namespace', 'platform')
    expect(gone, gone.stderr).toMatchObject({ code: 0, stdout: 'Fettle is gone\n' })
    const left = await admin.get<KubeObject>(resources.namespaces, { name: 'platform' })
    expect(left.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'platform' })
    expect(left.metadata.deletionTimestamp).toBeUndefined()
  })

  test('leaves its own namespace when somebody else lives there', async () => {
    expect(await run('install', '--no-wait')).toMatchObject({ code: 0 })
    const secret = { metadata: { name: 'theirs', namespace: 'fettle-system' } }
    await admin.create<KubeObject>(resources.secrets, secret)
    const gone = await run('uninstall')
    expect(gone.stderr).toContain('namespace fettle-system stays, because it holds Secret theirs')
    expect(await namesOf(resources.secrets, 'fettle-system')).toEqual(['theirs'])
    expect(await namesOf(resources.serviceAccounts, 'fettle-system')).toEqual(['default'])
  })

  test('leaves a node cordoned that a profile has in maintenance, and takes the notes off it', async () => {
    expect(await run('install', '--no-wait')).toMatchObject({ code: 0 })
    const claim = JSON.stringify({ request: '', token: 0, since: '2026-03-01T12:00:00.000Z' })
    const underWay = {
      ...{ from: 'operational', next: 'in-maintenance', check: 'go', triggers: ['drain'], trigger: 0 },
      since: '2026-03-01T12:00:00Z',
    }
    const noted = (...owners: string[]) => ({
      'fettle.dev/cordon-prior': 'false',
      ...Object.fromEntries(owners.map((owner) => [`cordon.fettle.dev/${owner}`, claim])),
    })
    const sent = { p: { tell: '2026-03-01T12:00:00Z' } }
    const progress = 'fettle.dev/profile-progress'
    const nodes = {
      both: { ...noted('profile-p', 'queue'), [progress]: JSON.stringify({ inFlight: { p: underWay }, sent }) },
      queued: { ...noted('queue'), [progress]: JSON.stringify({ inFlight: { p: underWay } }) },
    }
    for (const [name, annotations] of Object.entries(nodes))
      await admin.create<KubeObject>(resources.nodes, {
        metadata: { name, annotations },
        ...{ spec: { unschedulable: true } },
      })
    const gone = await run('uninstall')
    expect(gone, gone.stderr).toMatchObject({ code: 0 })
    expect(gone.stderr).toContain(
      'both stays cordoned for profile-p; maintenance-controller, or `kubectl uncordon both`',
    )
    const left = async (name: string) => {
      const { metadata, spec } = await admin.get<NodeObject>(resources.nodes, { name })
      return [spec?.unschedulable ?? false, Object.keys(metadata.annotations ?? {}).filter((key) => /cordon/.test(key))]
    }
    expect(await left('both')).toEqual([true, []])
    expect(await left('queued')).toEqual([false, []])
    // Whoever comes back weeks later does not go on with it; what was told is not told again.
    const progressOf = async (name: string) =>
      (await admin.get<NodeObject>(resources.nodes, { name })).metadata.annotations?.[progress]
    expect([await progressOf('both'), await progressOf('queued')]).toEqual([JSON.stringify({ sent }), undefined])
  })

  test('with no controllers of its own leaves them to a Deployment made for maintenance-controller', async (context) => {
    const config = temporaryFolder(context)
    mkdirSync(join(config, 'config'))
    const path = join(config, 'config/maintenance.yaml')
    writeFileSync(path, 'intervals: {requeue: 1s}\n')
    const namespace = 'kube-system'
    const installed = await run(
      'install',
      '--namespace',
      namespace,
      '--replicas',
      '0',
      '--profiles',
      path,
      '--timeout',
      '5',
    )
    const deployment = { name: 'fettle-controller', namespace }
    expect(await admin.get<KubeObject>(resources.deployments, deployment), installed.stderr).toMatchObject({
      spec: { replicas: 0 },
    })
    const token = await requestToken(admin, { name: 'fettle-controller', namespace })
    const document = parseDocument(readFileSync(kubeconfig, 'utf8'))
    document.setIn(['users', 0, 'user'], { token })
    const asAccount = join(config, 'kubeconfig')
    writeFileSync(asAccount, document.toString(), { mode: 0o600 })
    const controller = startFettle(
      [
        ...['controller', '--kubeconfig', asAccount, '--namespace', namespace, '--http-port', '0'],
        ...['--metrics-addr', ':0', '--health-addr', ':0', '--lease-seconds', '5'],
      ],
      { cwd: config, env: { POD_NAME: 'maintenance-controller-7d9f' }, deadlineMs },
    )
    context.onTestFinished(async () => {
      controller.signal('SIGKILL')
      await controller.finished
    })
    await controller.untilSaid('"msg":"profiles begin"')
    await eventually(
      async () => {
        const { labels } = (await admin.get<NodeObject>(resources.nodes, { name: 'node-1' })).metadata
        expect(labels?.['cloud.sap/maintenance-state'], controller.said()).toBe('operational')
      },
      { withinMs: 30_000 },
    )
    controller.signal('SIGKILL')
    await controller.finished
    expect(await run('uninstall', '--namespace', namespace)).toMatchObject({ code: 0 })
  })

  test('keeps custom resources and what is in them when told so', async () => {
    expect(await run('install', '--no-wait')).toMatchObject({ code: 0 })
    await admin.create<KubeObject>(maintenanceBudgets, { metadata: { name: 'cluster' }, ...{ spec: { max: 2 } } })
    expect(await run('uninstall', '--keep-crds')).toMatchObject({ code: 0 })
    expect(await admin.get<KubeObject>(maintenanceBudgets, { name: 'cluster' })).toMatchObject({ spec: { max: 2 } })
  })
})
