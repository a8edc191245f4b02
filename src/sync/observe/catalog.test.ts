import { afterEach, expect, test } from 'vitest'
import { connect } from '../../kube/index.ts'
import { json, type Reply, refusal, scriptedServer } from '../../kube/request/scripted-server.ts'
import { readCatalog } from './catalog.ts'

const signal = new AbortController().signal
const ends: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** A server with these answers; what is not among them is not there. */
async function served(answers: Readonly<Record<string, object>>) {
  const reply: Reply = (answer, request) => {
    const body = answers[request.path] ?? { refused: 404 }
    const say = 'refused' in body ? refusal(Number(body.refused), 'Refused', 'no') : json(200, body)
    return say(answer, request)
  }
  const server = await scriptedServer(reply)
  const client = connect(server.config, { component: 'test', random: () => 0 })
  ends.push(
    () => client.close(),
    () => server.close(),
  )
  return { server, client }
}

const resource = (plural: string, kind: string, more: object = {}) => ({
  resource: plural,
  responseKind: { group: '', version: '', kind },
  scope: 'Namespaced',
  verbs: ['create', 'delete', 'get', 'list', 'watch'],
  ...more,
})
const group = (name: string, ...versions: readonly object[]) => ({
  metadata: { name, creationTimestamp: null },
  versions,
})
const version = (name: string, resources: readonly object[], freshness = 'Current') => ({
  version: name,
  resources,
  freshness,
})
const discovery = (...items: readonly object[]) => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items,
})
const apiService = (name: string, versionName: string, available?: object, service: object | null = { name: 'x' }) => ({
  metadata: { name: `${versionName}.${name}` },
  spec: { group: name, version: versionName, ...(service ? { service } : {}) },
  status: { conditions: available ? [{ type: 'Available', ...available }] : [] },
})
const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices'
const core = discovery(
  group(
    '',
    version('v1', [
      resource('pods', 'Pod', { subresources: [{ subresource: 'log', verbs: ['get'] }] }),
      resource('namespaces', 'Namespace', { scope: 'Cluster' }),
    ]),
  ),
)

test('three requests tell of everything, and each kind comes in the preferred version of those that have it', async () => {
  const { client, server } = await served({
    '/api': core,
    '/apis': discovery(
      group(
        'autoscaling',
        version('v2', [resource('horizontalpodautoscalers', 'HorizontalPodAutoscaler')]),
        version('v1', [
          resource('horizontalpodautoscalers', 'HorizontalPodAutoscaler'),
          resource('oldthings', 'OldThing'),
        ]),
      ),
    ),
    [apiServicesPath]: { items: [apiService('autoscaling', 'v2', { status: 'True' }, null)] },
  })
  const catalog = await readCatalog(client, signal)
  expect(
    catalog.kinds.map(({ resource: { group, version, plural, namespaced } }) => [group, version, plural, namespaced]),
  ).toEqual([
    ['', 'v1', 'pods', true],
    ['', 'v1', 'namespaces', false],
    ['autoscaling', 'v2', 'horizontalpodautoscalers', true],
    ['autoscaling', 'v1', 'oldthings', true],
  ])
  expect(catalog.kinds.every(({ isAggregated }) => !isAggregated)).toBe(true)
  expect(catalog.unknown).toEqual([])
  const versions = catalog.versionsOf('autoscaling', 'HorizontalPodAutoscaler')
  expect(versions.map(({ resource }) => resource.version)).toEqual(['v2', 'v1'])
  expect(catalog.versionsOf('', 'HorizontalPodAutoscaler')).toEqual([])
  expect(server.seen.map(({ path }) => path).sort()).toEqual(['/api', '/apis', apiServicesPath])
  expect(server.seen.find(({ path }) => path === '/apis')?.headers.accept).toMatch(
    /^application\/json;g=apidiscovery\.k8s\.io;as=APIGroupDiscoveryList;v=v2,/,
  )
})

test.for([
  [
    'stale',
    version('v1', [resource('widgets', 'Widget')], 'Stale'),
    apiService('x.io', 'v1', { status: 'True' }),
    /could not ask/,
  ],
  [
    'not available',
    version('v1', [resource('widgets', 'Widget')]),
    apiService('x.io', 'v1', { status: 'False', message: 'no endpoints' }),
    /x\.io\/v1: its APIService is not available: no endpoints/,
  ],
  ['never asked', version('v1', []), apiService('x.io', 'v1'), /nobody has asked it yet/],
  ['absent from discovery', version('v2', []), apiService('x.io', 'v1', { status: 'True' }), /does not tell of it yet/],
  [
    'a resource without its kind',
    version('v1', [resource('widgets', 'Widget', { responseKind: null })]),
    apiService('x.io', 'v1', { status: 'True' }),
    /without their kind/,
  ],
] as const)('a group is unknown when it is %s, and the others go on', async ([, answer, service, why]) => {
  const { client } = await served({
    '/api': core,
    '/apis': discovery(group('x.io', answer)),
    [apiServicesPath]: { items: [service] },
  })
  const catalog = await readCatalog(client, signal)
  expect(catalog.unknown).toEqual([{ group: 'x.io', why: expect.stringMatching(why) as string }])
  expect(catalog.kinds.some(({ resource }) => resource.kind === 'Pod')).toBe(true)
})

test('a group is aggregated when its APIService names a service', async () => {
  const { client } = await served({
    '/api': core,
    '/apis': discovery(
      group('own.io', version('v1', [resource('owns', 'Own')])),
      group('other.io', version('v1', [resource('others', 'Other')])),
    ),
    [apiServicesPath]: {
      items: [apiService('own.io', 'v1', { status: 'True' }, null), apiService('other.io', 'v1', { status: 'True' })],
    },
  })
  const { kinds } = await readCatalog(client, signal)
  expect(kinds.filter(({ isAggregated }) => isAggregated).map(({ resource }) => resource.group)).toEqual(['other.io'])
})

test('who may not read APIServices takes every group that is not built in for aggregated', async () => {
  const { client } = await served({
    '/api': core,
    '/apis': discovery(
      group('apps', version('v1', [resource('deployments', 'Deployment')])),
      group('own.io', version('v1', [resource('owns', 'Own')])),
    ),
    [apiServicesPath]: { refused: 403 },
  })
  const { kinds, unknown } = await readCatalog(client, signal)
  expect(kinds.filter(({ isAggregated }) => isAggregated).map(({ resource }) => resource.group)).toEqual(['own.io'])
  expect(unknown).toEqual([])
})

test('a server without the aggregated form is asked version by version', async () => {
  const list = (resources: readonly object[]) => ({ kind: 'APIResourceList', resources })
  const old = (name: string, kind: string, namespaced = true) => ({ name, kind, namespaced, verbs: ['list', 'delete'] })
  const { client } = await served({
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': {
      kind: 'APIGroupList',
      groups: [
        {
          name: 'batch',
          versions: [{ version: 'v1beta1' }, { version: 'v1' }],
          preferredVersion: { version: 'v1' },
        },
        { name: 'down.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
        { name: 'odd.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
      ],
    },
    '/api/v1': list([old('pods', 'Pod'), old('pods/log', 'Pod'), old('nodes', 'Node', false)]),
    '/apis/batch/v1': list([old('jobs', 'Job')]),
    '/apis/batch/v1beta1': list([old('jobs', 'Job'), old('cronjobs', 'CronJob')]),
    '/apis/odd.io/v1': { kind: 'Surprise' },
  })
  const catalog = await readCatalog(client, signal)
  expect(
    catalog.kinds.map(({ resource: { version, plural, namespaced } }) => `${version} ${plural} ${namespaced}`),
  ).toEqual(['v1 pods true', 'v1 nodes false', 'v1 jobs true', 'v1beta1 cronjobs true'])
  expect(catalog.unknown).toEqual([
    { group: 'down.io', why: expect.stringMatching(/^down\.io\/v1: discovery failed: /) as string },
    { group: 'odd.io', why: 'odd.io/v1: the answer is not a list of resources' },
  ])
})

test('without any discovery there is no catalog', async () => {
  const { client } = await served({ '/api': core, '/apis': { refused: 403 } })
  await expect(readCatalog(client, signal)).rejects.toMatchObject({ code: 'Forbidden' })
})
