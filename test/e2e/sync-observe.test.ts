import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { keyText } from '../../src/sync/key.ts'
import { readCatalog } from '../../src/sync/observe/catalog.ts'
import { type PruneWorld, protectionOf, pruneWorld } from '../../src/sync/observe/never-pruned.ts'
import { observe } from '../../src/sync/observe/observe.ts'
import type { Catalog, Observation } from '../../src/sync/observed.ts'
import { carefulDeletion } from '../../src/sync/policy.ts'
import { bindClusterRole, eventually, type Ground, prepareGround, type Test } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, writeKubeconfig } from '../support/e2e-identity.ts'

const everything = (namespace: string) =>
  ({ namespaces: [namespace], kinds: 'all', full: [], declaredSecrets: new Set<string>() }) as const

const names = ({ objects }: Observation) => objects.map(({ key }) => keyText(key)).sort()

async function installWidgets(test: Test, { admin, namespace }: Ground): Promise<string> {
  const group = `${namespace}.example.com`
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const definition = { name: `widgets.${group}` }
  await admin.create(resources.customResourceDefinitions, {
    metadata: definition,
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', singular: 'widget' },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v1beta1', served: true, storage: false, schema },
      ],
    },
  } as KubeObject)
  test.onTestFinished(() => admin.delete(resources.customResourceDefinitions, definition, { uid: 'any' }))
  return group
}

/** A group whose program nobody has started. */
async function installDeadGroup(test: Test, { admin, namespace }: Ground): Promise<string> {
  const group = `dead.${namespace}.example.com`
  const path = '/apis/apiregistration.k8s.io/v1/apiservices'
  await admin.request({
    method: 'POST',
    path,
    body: {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${group}` },
      spec: {
        group,
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: 'nobody', namespace },
      },
    },
  })
  // A namespace cannot be deleted while a group does not answer: this has to go first.
  test.onTestFinished(async () => void (await admin.request({ method: 'DELETE', path: `${path}/v1.${group}` })))
  return group
}

test('everything in a namespace is found, and what every namespace has is protected', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  const group = await installWidgets(context, ground)
  const widgets = await eventually(
    async () => {
      const catalog = await readCatalog(admin, signal)
      const [preferred, ...others] = catalog.versionsOf(group, 'Widget')
      expect(others.map(({ resource }) => resource.version)).toEqual(['v1beta1'])
      if (preferred?.resource.version !== 'v1') throw new Error('v1 is not preferred')
      return preferred
    },
    { withinMs: 20_000, everyMs: 100 },
  )
  expect(widgets.isAggregated).toBe(false)
  await eventually(() => admin.create(widgets.resource, { metadata: { name: 'w', namespace } }), { withinMs: 10_000 })
  await admin.create(resources.configMaps, { metadata: { name: 'c', namespace }, data: { a: 'b' } } as KubeObject)
  const opaque = { metadata: { name: 's', namespace }, type: 'Opaque', data: { a: 'Y2FuYXJ5' } } as KubeObject
  await admin.create(resources.secrets, opaque)
  const service = { metadata: { name: 'web', namespace }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }
  await admin.create(resources.services, service as KubeObject)

  const catalog = await readCatalog(admin, signal)
  const seen = await eventually(
    async () => {
      const observation = await observe(admin, catalog, everything(namespace), signal)
      expect(names(observation).filter((name) => !/^(EndpointSlice|Event)/.test(name))).toEqual(
        [
          `ConfigMap ${namespace}/c`,
          `ConfigMap ${namespace}/kube-root-ca.crt`,
          `Endpoints ${namespace}/web`,
          `Namespace ${namespace}`,
          `Secret ${namespace}/s`,
          `Service ${namespace}/web`,
          `ServiceAccount ${namespace}/default`,
          `Widget.${group} ${namespace}/w`,
        ].sort(),
      )
      expect(names(observation).some((name) => name.startsWith('EndpointSlice'))).toBe(true)
      return observation
    },
    { withinMs: 20_000, everyMs: 200 },
  )
  expect(seen.unknown).toEqual([])
  expect(JSON.stringify(seen)).not.toContain('Y2FuYXJ5')
  expect(seen.objects.some(({ body }) => body !== undefined)).toBe(false)

  const policy = {
    name: 'x',
    namespaces: [namespace],
    mode: 'total',
    adoption: 'ifUnowned',
    adoptFrom: [],
    clusterKinds: [],
    ignore: [],
    conflicts: 'fail',
    deletion: carefulDeletion,
  } satisfies PruneWorld['policy']
  // Tomorrow nothing is young any more.
  const nowMs = Date.now() + 86_400_000
  const world = pruneWorld({ objects: seen.objects, declared: new Set(), policy, setId: 'x', nowMs, unknown: [] })
  const protections = seen.objects.flatMap((object) => {
    const rule = protectionOf(object, world, false)?.rule
    return rule === 'events' ? [] : [`${object.key.kind} ${rule ?? 'goes'}`]
  })
  expect([...new Set(protections)].sort()).toEqual([
    'ConfigMap goes',
    'ConfigMap root-ca',
    'EndpointSlice endpoints',
    'Endpoints endpoints',
    'Namespace cluster-scoped',
    'Secret goes',
    'Service goes',
    'ServiceAccount sa-default',
    'Widget goes',
  ])

  const full = [
    { apiVersion: `${group}/v1beta1`, kind: 'Widget' },
    { apiVersion: 'v1', kind: 'Secret' },
  ]
  const declaredSecrets = new Set([` Secret ${namespace} s`])
  const whole = await observe(admin, catalog, { ...everything(namespace), kinds: full, full, declaredSecrets }, signal)
  const bodies = whole.objects.flatMap(({ body }) => body ?? [])
  expect(bodies).toMatchObject([
    { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', data: { a: 'Y2FuYXJ5' } },
    { apiVersion: `${group}/v1beta1`, kind: 'Widget', metadata: { name: 'w' } },
  ])
})

test('a group whose program does not answer is unknown, and the others go on', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  const group = await installDeadGroup(context, ground)
  await admin.create(resources.configMaps, { metadata: { name: 'c', namespace } })
  // Other tests may have had groups like it, which the server forgets a moment later.
  const unknownOf = ({ unknown }: Pick<Catalog, 'unknown'>) => unknown.filter((one) => one.group === group)
  expect(unknownOf(await readCatalog(admin, signal))).toHaveLength(1)
  // Also once the aggregator has tried.
  await eventually(
    async () => {
      const [unknown] = unknownOf(await readCatalog(admin, signal))
      expect(unknown?.why).toMatch(/not available|could not ask/)
    },
    { withinMs: 20_000, everyMs: 200 },
  )
  const seen = await observe(admin, await readCatalog(admin, signal), everything(namespace), signal)
  expect(unknownOf(seen)).toHaveLength(1)
  expect(names(seen)).toContain(`ConfigMap ${namespace}/c`)
})

test('who may not list Secrets gets them as unknown, and the rest as it is', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  const reader = `reader-of-${namespace}`
  const user = { ...adminEntries(ground).user, as: reader }
  const client = await connectWith(context, writeKubeconfig(context, ground, user))
  await bindClusterRole(context, admin, 'view', { kind: 'User', name: reader })
  await admin.create(resources.configMaps, { metadata: { name: 'c', namespace } })
  await admin.create(resources.secrets, { metadata: { name: 's', namespace } })
  const catalog = await readCatalog(client, signal)
  // The API server's own view of roles follows a moment later.
  const seen = await eventually(
    async () => {
      const observation = await observe(client, catalog, everything(namespace), signal)
      expect(names(observation)).toContain(`ConfigMap ${namespace}/c`)
      return observation
    },
    { withinMs: 10_000 },
  )
  expect(names(seen)).not.toContain(`Secret ${namespace}/s`)
  const secrets = seen.unknown.find(({ group, kind }) => group === '' && kind === 'Secret')
  expect(secrets?.why).toMatch(/^secrets cannot be listed in namespace \S+: .*User "reader-of-.*" cannot list/)
  expect(seen.unknown.some(({ kind }) => kind === 'ConfigMap')).toBe(false)
})
