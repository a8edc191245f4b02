import { afterEach, describe, expect, test } from 'vitest'
import { connect } from '../../kube/index.ts'
import {
  json,
  type Reply,
  refusal,
  reset,
  type SeenRequest,
  scriptedServer,
} from '../../kube/request/scripted-server.ts'
import { keyText } from '../key.ts'
import type { Catalog, ServedKind } from '../observed.ts'
import { observe } from './observe.ts'

const signal = new AbortController().signal
const ends: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

type Routes = Readonly<Record<string, Reply>>

async function cluster(routes: Routes) {
  const reply: Reply = (answer, request) => {
    const route = routes[request.path] ?? refusal(404, 'NotFound', 'no such path')
    return route(answer, request)
  }
  const server = await scriptedServer(reply)
  const client = connect(server.config, { component: 'test', random: () => 0 })
  ends.push(
    () => client.close(),
    () => server.close(),
  )
  return { client, asked: (path: string) => server.seen.filter((request) => request.path === path) }
}

const verbs = ['delete', 'list']
const served = (group: string, plural: string, kind: string, more: Partial<ServedKind> = {}): ServedKind => ({
  resource: { group, version: 'v1', plural, kind, namespaced: true },
  verbs,
  isAggregated: false,
  ...more,
})
const configMaps = served('', 'configmaps', 'ConfigMap')
const secrets = served('', 'secrets', 'Secret')
const catalogOf = (...kinds: readonly ServedKind[]): Catalog => ({ kinds, unknown: [] })
const all = { namespaces: ['shop'], kinds: 'all', full: [], declaredSecrets: new Set<string>() } as const

const item = (name: string, more: object = {}, metadata: object = {}) => ({
  metadata: {
    name,
    namespace: 'shop',
    uid: `uid-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    managedFields: [
      { manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:data': {} } },
      { manager: 'kubectl', operation: 'Update' },
      { operation: 'Update' },
    ],
    ...metadata,
  },
  ...more,
})
const list = (...items: readonly object[]) => json(200, { metadata: { resourceVersion: '7' }, items })
const texts = (objects: readonly { readonly key: Parameters<typeof keyText>[0] }[]) =>
  objects.map(({ key }) => keyText(key))
const configMapsPath = '/api/v1/namespaces/shop/configmaps'
const secretsPath = '/api/v1/namespaces/shop/secrets'

describe('what is kept', () => {
  test('of a stranger, its metadata and the names of those who wrote it', async () => {
    const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"hidden"}', mine: 'kept' }
    const { client, asked } = await cluster({
      [configMapsPath]: list(item('a', { data: { x: 'y' } }, { annotations: lastApplied })),
    })
    const { objects, unknown } = await observe(client, catalogOf(configMaps), all, signal)
    expect(unknown).toEqual([])
    expect(objects).toEqual([
      {
        key: { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'a' },
        uid: 'uid-a',
        apiVersion: 'v1',
        managers: ['kubectl'],
        metadata: {
          name: 'a',
          namespace: 'shop',
          uid: 'uid-a',
          creationTimestamp: '2026-01-01T00:00:00Z',
          annotations: { mine: 'kept' },
        },
      },
    ])
    expect(asked(configMapsPath)[0]?.headers.accept).toMatch(/as=PartialObjectMetadataList;g=meta\.k8s\.io;v=v1/)
  })

  test('of a declared kind, the whole object with what it is', async () => {
    const whole = item('a', { data: { x: 'y' } })
    const { client, asked } = await cluster({ [configMapsPath]: list(whole) })
    const scope = { ...all, full: [{ apiVersion: 'v1', kind: 'ConfigMap' }] }
    const { objects } = await observe(client, catalogOf(configMaps), scope, signal)
    expect(objects[0]?.body).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', ...whole })
    expect(objects[0]?.metadata.managedFields).toHaveLength(3)
    expect(asked(configMapsPath)[0]?.headers.accept).toBe('application/json')
  })

  test.for([true, false])(
    'of Secrets the type, and values only of declared ones (kind declared: %s)',
    async (isFull) => {
      const { client } = await cluster({
        [secretsPath]: list(
          item('ours', { type: 'Opaque', data: { a: 'b3Vycw==' } }),
          item('theirs', { type: 'helm.sh/release.v1', data: { a: 'Y2FuYXJ5' } }),
        ),
      })
      const scope = {
        ...all,
        full: isFull ? [{ apiVersion: 'v1', kind: 'Secret' }] : [],
        declaredSecrets: new Set([' Secret shop ours']),
      }
      const { objects } = await observe(client, catalogOf(secrets), scope, signal)
      expect(objects.map(({ type }) => type)).toEqual(['Opaque', 'helm.sh/release.v1'])
      expect(objects.map(({ body }) => body !== undefined)).toEqual([isFull, false])
      expect(JSON.stringify(objects)).not.toContain('Y2FuYXJ5')
    },
  )

  test('nothing of items without a UID', async () => {
    const { client } = await cluster({ [configMapsPath]: list(item('a', {}, { uid: '' }), { metadata: {} }) })
    expect((await observe(client, catalogOf(configMaps), all, signal)).objects).toEqual([])
  })
})

describe('pages', () => {
  const page = (token: string, ...items: readonly object[]) =>
    json(200, { metadata: { resourceVersion: '7', continue: token }, items })

  test.for([true, false])('are all read (whole objects: %s)', async (isFull) => {
    const reply: Reply = (answer, request) =>
      (request.query.get('continue') === 't' ? page('', item('b')) : page('t', item('a')))(answer, request)
    const { client } = await cluster({ [configMapsPath]: reply })
    const scope = { ...all, full: isFull ? [{ apiVersion: 'v1', kind: 'ConfigMap' }] : [] }
    expect(texts((await observe(client, catalogOf(configMaps), scope, signal)).objects)).toEqual([
      'ConfigMap shop/a',
      'ConfigMap shop/b',
    ])
  })

  test('begin anew when the list became too old, and nothing is counted twice', async () => {
    let isTooOld = true
    const reply: Reply = (answer, request) => {
      if (request.query.get('continue') !== 't') return page('t', item('a'))(answer, request)
      const say = isTooOld ? refusal(410, 'Expired', 'too old') : page('', item('b'))
      isTooOld = false
      return say(answer, request)
    }
    const { client, asked } = await cluster({ [configMapsPath]: reply })
    const { objects, unknown } = await observe(client, catalogOf(configMaps), all, signal)
    expect(texts(objects)).toEqual(['ConfigMap shop/a', 'ConfigMap shop/b'])
    expect(unknown).toEqual([])
    expect(asked(configMapsPath)).toHaveLength(4)
  })

  test('of which one fails make the kind unknown, not half empty', async () => {
    const reply: Reply = (answer, request) =>
      (request.query.has('continue') ? refusal(403, 'Forbidden', 'no more') : page('t', item('a')))(answer, request)
    const { client } = await cluster({ [configMapsPath]: reply })
    const { objects, unknown } = await observe(client, catalogOf(configMaps), all, signal)
    expect(objects).toEqual([])
    expect(unknown).toMatchObject([{ group: '', kind: 'ConfigMap' }])
  })
})

describe('unknown, never empty', () => {
  test.for<[string, Reply, RegExp]>([
    ['is forbidden', refusal(403, 'Forbidden', 'no right'), /cannot be listed in namespace shop: no right/],
    ['is gone since discovery', refusal(404, 'NotFound', 'not found'), /are served no more/],
    ['fails', refusal(500, 'InternalError', 'etcd is ill'), /etcd is ill/],
    ['answers something else', json(200, { kind: 'Surprise' }), /not a list/],
  ])('a kind that %s; the others go on', async ([, reply, why]) => {
    const { client } = await cluster({ [configMapsPath]: reply, [secretsPath]: list(item('s', { type: 'Opaque' })) })
    const { objects, unknown } = await observe(client, catalogOf(configMaps, secrets), all, signal)
    expect(unknown).toEqual([{ group: '', kind: 'ConfigMap', why: expect.stringMatching(why) as string }])
    expect(texts(objects)).toEqual(['Secret shop/s'])
  })

  test('one namespace that fails makes the kind unknown, once, and the other one is seen', async () => {
    const forbidden = refusal(403, 'Forbidden', 'no right')
    const { client } = await cluster({
      [configMapsPath]: list(item('a')),
      '/api/v1/namespaces/b/configmaps': forbidden,
      '/api/v1/namespaces/c/configmaps': forbidden,
    })
    const scope = { ...all, namespaces: ['shop', 'b', 'c'] }
    const { objects, unknown } = await observe(client, catalogOf(configMaps), scope, signal)
    expect(texts(objects)).toEqual(['ConfigMap shop/a'])
    expect(unknown).toMatchObject([{ kind: 'ConfigMap', why: expect.stringContaining('namespace b') as string }])
  })

  test('what discovery did not know stays unknown', async () => {
    const { client } = await cluster({ [configMapsPath]: list() })
    const down = { group: 'down.io', why: 'down.io/v1: no answer' }
    const { unknown } = await observe(client, { kinds: [configMaps], unknown: [down] }, all, signal)
    expect(unknown).toEqual([down])
  })

  test.for<[string, Reply, string]>([
    ['the credentials are not accepted', refusal(401, 'Unauthorized', 'who?'), 'Unauthorized'],
    ['the server cannot be reached', reset, 'Unreachable'],
  ])('when %s there is no observation at all', async ([, reply, code]) => {
    const { client } = await cluster({ [configMapsPath]: reply })
    await expect(observe(client, catalogOf(configMaps), all, signal)).rejects.toMatchObject({ code })
  })

  test('an abort ends it with its reason', async () => {
    const stop = new AbortController()
    const { client } = await cluster({ [configMapsPath]: () => stop.abort(new Error('enough')) })
    await expect(observe(client, catalogOf(configMaps), all, stop.signal)).rejects.toThrow('enough')
  })
})

describe('a fault that passes', () => {
  const needed = [{ apiVersion: 'v1', kind: 'ConfigMap' }]
  test.for<[string, Reply, string]>([
    ['an ill server', refusal(500, 'InternalError', 'etcd is ill'), 'Server'],
    ['a server behind it that is away', refusal(503, 'ServiceUnavailable', 'not now'), 'Unavailable'],
  ])('says nothing about what git declares, so there is no observation: %s', async ([, reply, code]) => {
    const { client } = await cluster({ [configMapsPath]: reply, [secretsPath]: list() })
    const catalog = catalogOf(configMaps, secrets)
    await expect(observe(client, catalog, { ...all, needed }, signal)).rejects.toMatchObject({ code })
    const others = { ...all, needed: [{ apiVersion: 'v1', kind: 'Secret' }] }
    expect((await observe(client, catalog, others, signal)).unknown).toMatchObject([{ kind: 'ConfigMap' }])
  })

  test('is none if a right is missing: that is told of the kind', async () => {
    const { client } = await cluster({ [configMapsPath]: refusal(403, 'Forbidden', 'no right') })
    const { unknown } = await observe(client, catalogOf(configMaps), { ...all, needed }, signal)
    expect(unknown).toMatchObject([{ kind: 'ConfigMap' }])
  })
})

describe('one object under two groups', () => {
  const one = served('', 'events', 'Event')
  const other = served('events.k8s.io', 'events', 'Event')
  const routes = {
    '/api/v1/namespaces/shop/events': list(item('e')),
    '/apis/events.k8s.io/v1/namespaces/shop/events': list(item('e')),
  }

  test.for<[string, readonly ServedKind[], readonly { apiVersion: string; kind: string }[], readonly string[]]>([
    ['is seen once', [one, other], [], ['Event shop/e']],
    ['is seen as the API server has it', [{ ...one, isAggregated: true }, other], [], ['Event.events.k8s.io shop/e']],
    [
      'is seen as it is declared',
      [one, other],
      [{ apiVersion: 'events.k8s.io/v1', kind: 'Event' }],
      ['Event.events.k8s.io shop/e'],
    ],
    [
      'is seen twice when both kinds are asked for',
      [one, other],
      [
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { apiVersion: 'v1', kind: 'Event' },
      ],
      ['Event shop/e', 'Event.events.k8s.io shop/e'],
    ],
  ])('%s', async ([, kinds, full, expected]) => {
    const { client } = await cluster(routes)
    expect(texts((await observe(client, catalogOf(...kinds), { ...all, full }, signal)).objects)).toEqual(expected)
  })
})

describe('the namespace itself', () => {
  const path = '/api/v1/namespaces/shop'
  const namespace = { metadata: { name: 'shop', uid: 'u' }, status: { phase: 'Active' } }
  const named = { ...all, full: [{ apiVersion: 'v1', kind: 'Namespace' }] }

  test.for<[string, typeof named | typeof all, Reply, boolean | undefined, readonly string[]]>([
    ['is seen', all, json(200, namespace), false, []],
    ['is read whole when it is declared', named, json(200, namespace), true, []],
    ['may not be there yet', named, refusal(404, 'NotFound', 'none'), undefined, []],
    [
      'is unknown when it is declared and cannot be read',
      named,
      refusal(403, 'Forbidden', 'no'),
      undefined,
      ['Namespace'],
    ],
    ['is not missed when nobody declares it', all, refusal(403, 'Forbidden', 'no'), undefined, []],
  ])('%s', async ([, scope, reply, hasBody, missing]) => {
    const { client } = await cluster({ [path]: reply })
    const { objects, unknown } = await observe(client, catalogOf(), scope, signal)
    expect(objects.map(({ body }) => body !== undefined)).toEqual(hasBody === undefined ? [] : [hasBody])
    expect(unknown.map(({ kind }) => kind)).toEqual(missing)
  })
})

test('other namespaces are seen by name, once, and nothing in them', async () => {
  const namespace = (name: string) => json(200, { metadata: { name, uid: `uid-${name}` } })
  const { client, asked } = await cluster({
    [configMapsPath]: list(),
    '/api/v1/namespaces/shop': namespace('shop'),
    '/api/v1/namespaces/other': namespace('other'),
    '/api/v1/namespaces/gone': refusal(404, 'NotFound', 'none'),
  })
  const scope = {
    ...all,
    full: [{ apiVersion: 'v1', kind: 'Namespace' }],
    namespaceObjects: ['other', 'gone', 'shop', 'Not/A-Name'],
  }
  const { objects, unknown } = await observe(client, catalogOf(configMaps), scope, signal)
  expect([texts(objects), unknown]).toEqual([['Namespace shop', 'Namespace other'], []])
  expect([asked('/api/v1/namespaces/shop').length, asked('/api/v1/namespaces/other/configmaps').length]).toEqual([1, 0])
})

test('sixteen lists at a time', async () => {
  let running = 0
  let most = 0
  const slow: Reply = async (answer, request: SeenRequest) => {
    running++
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
    return list()(answer, request)
  }
  const kinds = Array.from({ length: 40 }, (_, at) => served('', `k${at}`, `K${at}`))
  const { client } = await cluster(
    Object.fromEntries(kinds.map(({ resource }) => [`/api/v1/namespaces/shop/${resource.plural}`, slow])),
  )
  expect((await observe(client, catalogOf(...kinds), all, signal)).unknown).toEqual([])
  expect(most).toBeLessThanOrEqual(16)
  expect(most).toBeGreaterThan(8)
})

test.for(['..', 'a/b', '', 'Shop', '-a', 'a%2fb'])(
  '"%s" is refused as a namespace before anything is asked',
  async (name) => {
    const { client } = await cluster({})
    await expect(observe(client, catalogOf(configMaps), { ...all, namespaces: [name] }, signal)).rejects.toThrow(
      'cannot be a namespace',
    )
  },
)
