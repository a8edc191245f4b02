import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyId } from '../key.ts'
import type { ObservedObject, UnknownKind } from '../observed.ts'
import type { Policy } from '../policy.ts'
import { fixturePolicy, fixtureWorld, keyFrom, seen, setId } from './fixture-objects.ts'
import { mayBeDeclared, protectionOf, pruneWorld } from './never-pruned.ts'

interface Surroundings {
  readonly others?: readonly ObservedObject[]
  readonly declared?: readonly string[]
  readonly policy?: Policy
  readonly unknown?: readonly UnknownKind[]
}

function worldOf(object: ObservedObject, { others = [], declared = [], policy, unknown }: Surroundings = {}) {
  return fixtureWorld([object, ...others], {
    declared: new Set(declared.map((text) => keyId(keyFrom(text)))),
    ...(policy ? { policy } : {}),
    ...(unknown ? { unknown } : {}),
  })
}

/** The rule for a stranger, and for one that a commit had declared. */
function rules(object: ObservedObject, surroundings?: Surroundings): readonly (string | undefined)[] {
  const world = worldOf(object, surroundings)
  const answers = [false, true].map((isMember) => protectionOf(object, world, isMember))
  // The same with the index.
  const indexed = pruneWorld(world)
  expect([false, true].map((isMember) => protectionOf(object, indexed, isMember))).toEqual(answers)
  for (const answer of answers) if (answer) expect(answer.why).toMatch(/^\S+ .{8,}[^.\s]$/)
  return answers.map((answer) => answer?.rule)
}

const always = (rule: string) => [rule, rule]
const strangers = (rule: string) => [rule, undefined]
const nobody = [undefined, undefined]
const owner = (kind: string, name: string, isController = true) => ({
  apiVersion: 'apps/v1',
  kind,
  name,
  uid: `uid of ${kind}.apps shop/${name}`,
  ...(isController ? { controller: true } : {}),
})
const token = 'kubernetes.io/service-account-token'
const accountMark = (name: string) => ({ annotations: { 'kubernetes.io/service-account.name': name } })
const certificateMark = { annotations: { 'cert-manager.io/certificate-name': 'web' } }
const leader = { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }
const dataAllowed = fixturePolicy({ deletion: { allowDataDeletion: true } })

type Row = readonly [string, ObservedObject, readonly (string | undefined)[], Surroundings?]

const rows: readonly Row[] = [
  ['a plain ConfigMap', seen('ConfigMap shop/a'), nobody],
  ['a Deployment', seen('Deployment.apps shop/web'), nobody],

  ['owned', seen('ConfigMap shop/a', { ownerReferences: [owner('Deployment', 'web', false)] }), always('owned')],
  [
    'owned by something that is gone',
    seen('Job.batch shop/a', { ownerReferences: [owner('CronJob', 'x')] }),
    always('owned'),
  ],

  ['terminating', seen('ConfigMap shop/a', { deletionTimestamp: '2026-03-01T11:00:00Z' }), always('terminating')],

  ['core event', seen('Event shop/a'), always('events')],
  ['event', seen('Event.events.k8s.io shop/a'), always('events')],
  ['an Event of another group', seen('Event.example.com shop/a'), nobody],

  ['Endpoints', seen('Endpoints shop/web'), strangers('endpoints')],
  ['an EndpointSlice', seen('EndpointSlice.discovery.k8s.io shop/web-1'), strangers('endpoints')],

  ['a Lease', seen('Lease.coordination.k8s.io shop/a'), strangers('lease')],
  ['a LeaseCandidate', seen('LeaseCandidate.coordination.k8s.io shop/a'), strangers('lease')],
  ['a ConfigMap for leader election', seen('ConfigMap shop/a', leader), strangers('lease')],
  ['Endpoints for leader election', seen('Endpoints shop/a', leader), strangers('endpoints')],

  ['pod metrics', seen('PodMetrics.metrics.k8s.io shop/a'), always('metrics')],
  ['custom metrics', seen('MetricValueList.custom.metrics.k8s.io shop/a'), always('metrics')],
  ['external metrics', seen('ExternalMetricValueList.external.metrics.k8s.io shop/a'), always('metrics')],

  ['an access review', seen('LocalSubjectAccessReview.authorization.k8s.io shop/a'), always('reviews')],
  ['a token review', seen('TokenReview.authentication.k8s.io a'), always('reviews')],
  ['a Binding', seen('Binding shop/a'), always('reviews')],
  ['a RoleBinding', seen('RoleBinding.rbac.authorization.k8s.io shop/a'), nobody],

  ['a ControllerRevision', seen('ControllerRevision.apps shop/a'), always('revisions')],
  [
    'a ReplicaSet of a Deployment',
    seen('ReplicaSet.apps shop/a', { ownerReferences: [owner('Deployment', 'web')] }),
    always('revisions'),
  ],
  [
    'a Pod of a ReplicaSet',
    seen('Pod shop/a', { ownerReferences: [owner('ReplicaSet', 'web-1')] }),
    always('revisions'),
  ],
  [
    'a Pod without a controller',
    seen('Pod shop/a', { ownerReferences: [owner('Thing', 'x', false)] }),
    always('owned'),
  ],
  ['a bare Pod', seen('Pod shop/a'), nobody],
  ['a bare ReplicaSet', seen('ReplicaSet.apps shop/a'), nobody],

  ['the default account', seen('ServiceAccount shop/default'), always('sa-default')],
  ['another account', seen('ServiceAccount shop/web'), nobody],
  ['its token', seen('Secret shop/a', accountMark('default'), { type: token }), always('sa-default')],
  [
    'its dockercfg',
    seen('Secret shop/a', accountMark('default'), { type: 'kubernetes.io/dockercfg' }),
    always('sa-default'),
  ],

  [
    'a token of an account that is there',
    seen('Secret shop/a', accountMark('web'), { type: token }),
    strangers('sa-token'),
    { others: [seen('ServiceAccount shop/web')] },
  ],
  [
    'a token of a declared account',
    seen('Secret shop/a', accountMark('web'), { type: token }),
    strangers('sa-token'),
    { declared: ['ServiceAccount shop/web'] },
  ],
  [
    'a token while nobody knows the accounts',
    seen('Secret shop/a', accountMark('web'), { type: token }),
    strangers('sa-token'),
    { unknown: [{ group: '', kind: 'ServiceAccount', why: 'forbidden' }] },
  ],
  [
    'a token of an account of another namespace',
    seen('Secret shop/a', accountMark('web'), { type: token }),
    nobody,
    { others: [seen('ServiceAccount other/web')] },
  ],
  ['a token of an account that is gone', seen('Secret shop/a', accountMark('web'), { type: token }), nobody],
  ['a Secret that only names an account', seen('Secret shop/a', accountMark('default'), { type: 'Opaque' }), nobody],

  ['the root certificate', seen('ConfigMap shop/kube-root-ca.crt'), always('root-ca')],
  ['that of OpenShift', seen('ConfigMap shop/openshift-service-ca.crt'), always('root-ca')],
  ['that of Istio', seen('ConfigMap shop/istio-ca-root-cert'), always('root-ca')],
  ['a trust bundle', seen('ConfigMap shop/a', { labels: { 'trust.cert-manager.io/bundle': 'x' } }), always('root-ca')],
  ['a Secret of that name', seen('Secret shop/kube-root-ca.crt'), nobody],

  ['a Helm release', seen('Secret shop/a', {}, { type: 'helm.sh/release.v1' }), always('helm-release')],
  ['a Helm release in a ConfigMap', seen('ConfigMap shop/a', { labels: { owner: 'helm' } }), always('helm-release')],
  ['a Helm 2 release', seen('ConfigMap shop/a', { labels: { OWNER: 'TILLER' } }), always('helm-release')],
  ['a Deployment with that label', seen('Deployment.apps shop/a', { labels: { owner: 'helm' } }), nobody],

  [
    'what was issued for a Certificate',
    seen('Secret shop/a', certificateMark),
    always('cert-secret'),
    { others: [seen('Certificate.cert-manager.io shop/web')] },
  ],
  [
    'what was issued for a declared Certificate',
    seen('Secret shop/a', certificateMark),
    always('cert-secret'),
    { declared: ['Certificate.cert-manager.io shop/web'] },
  ],
  [
    'the same while nobody knows the Certificates',
    seen('Secret shop/a', certificateMark),
    always('cert-secret'),
    { unknown: [{ group: 'cert-manager.io', why: 'down' }] },
  ],
  ['the same when the Certificate is gone', seen('Secret shop/a', certificateMark), nobody],

  [
    'a claim of a StatefulSet',
    seen('PersistentVolumeClaim shop/data-db-0'),
    always('sts-pvc'),
    { others: [seen('StatefulSet.apps shop/db')], policy: dataAllowed },
  ],
  [
    'a claim of a declared StatefulSet with dashes',
    seen('PersistentVolumeClaim shop/my-data-my-db-12'),
    always('sts-pvc'),
    { declared: ['StatefulSet.apps shop/my-db'], policy: dataAllowed },
  ],
  [
    'a claim while nobody knows the StatefulSets',
    seen('PersistentVolumeClaim shop/data-db-0'),
    always('sts-pvc'),
    { unknown: [{ group: 'apps', kind: 'StatefulSet', why: 'forbidden' }], policy: dataAllowed },
  ],
  ...(['data-db', 'db-0', '-db-0', 'data-db-x', 'data-mydb-0'] as const).map(
    (name): Row => [
      `a claim named ${name}`,
      seen(`PersistentVolumeClaim shop/${name}`),
      nobody,
      { others: [seen('StatefulSet.apps shop/db'), seen('StatefulSet.apps other/mydb')], policy: dataAllowed },
    ],
  ),

  ['a claim', seen('PersistentVolumeClaim shop/a'), always('pvc-default')],
  ['a claim when data may be deleted', seen('PersistentVolumeClaim shop/a'), nobody, { policy: dataAllowed }],
  ['a snapshot', seen('VolumeSnapshot.snapshot.storage.k8s.io shop/a'), always('pvc-default')],

  ['storage capacity', seen('CSIStorageCapacity.storage.k8s.io shop/a'), strangers('storage-capacity')],

  ['a kind of another server', seen('Mirror.other.io shop/a', {}, { isAggregated: true }), strangers('aggregated')],
  [
    'the same, allowed',
    seen('Mirror.other.io shop/a', {}, { isAggregated: true }),
    nobody,
    { policy: fixturePolicy({ deletion: { allowAggregated: ['other.io'] } }) },
  ],

  ['a policy report', seen('PolicyReport.wgpolicyk8s.io shop/a'), strangers('reports')],
  ['a vulnerability report', seen('VulnerabilityReport.aquasecurity.github.io shop/a'), strangers('reports')],
  ['a Cilium endpoint', seen('CiliumEndpoint.cilium.io shop/a'), strangers('reports')],
  ['a Cilium policy', seen('CiliumNetworkPolicy.cilium.io shop/a'), nobody],
  ['a Calico endpoint', seen('WorkloadEndpoint.crd.projectcalico.org shop/a'), strangers('reports')],

  ['the address of the API server', seen('Service default/kubernetes'), always('kube-ns')],
  ['a Service of that name elsewhere', seen('Service shop/kubernetes'), nobody],
  ['anything in kube-system', seen('ConfigMap kube-system/a'), strangers('kube-ns')],
  ['anything in kube-public', seen('ConfigMap kube-public/a'), strangers('kube-ns')],
  ['anything in kube-node-lease', seen('ConfigMap kube-node-lease/a'), strangers('kube-ns')],

  ['our parent', seen('Secret shop/a', { labels: { 'applyset.kubernetes.io/id': setId } }), always('self')],
  ['our books by name', seen('Secret shop/fettle-sync-shop-inv-3'), always('self')],
  ['our books by label', seen('Secret shop/a', { labels: { 'fettle.dev/sync': 'shop' } }), always('self')],
  ['our books by type', seen('Secret shop/a', {}, { type: 'fettle.dev/sync-inventory' }), always('self')],
  ['our lease', seen('Lease.coordination.k8s.io shop/fettle-sync-shop'), always('self')],
  ['a Sync', seen('Sync.fettle.dev shop/a'), strangers('self')],
  [
    'the workload that we run as',
    seen('Deployment.apps shop/a', { labels: { 'app.kubernetes.io/name': 'fettle' } }),
    strangers('self'),
  ],

  [
    "another set's parent",
    seen('ConfigMap shop/a', { labels: { 'applyset.kubernetes.io/id': 'applyset-x-v1' } }),
    always('parent'),
  ],
  ["kapp's app", seen('ConfigMap shop/a', { labels: { 'kapp.k14s.io/is-app': '' } }), always('parent')],
  ["kapp's change", seen('ConfigMap shop/a', { labels: { 'kapp.k14s.io/is-app-change': '' } }), always('parent')],
  [
    "kpt's inventory",
    seen('ConfigMap shop/a', { labels: { 'cli-utils.sigs.k8s.io/inventory-id': 'x' } }),
    always('parent'),
  ],
  ['a Kustomization of Flux', seen('Kustomization.kustomize.toolkit.fluxcd.io shop/a'), strangers('parent')],
  ['an Application of Argo CD', seen('Application.argoproj.io shop/a'), strangers('parent')],
  ['a Workflow of Argo', seen('Workflow.argoproj.io shop/a'), nobody],
  ['a Bundle of Fleet', seen('Bundle.fleet.cattle.io shop/a'), strangers('parent')],
  [
    'a repository of Argo CD',
    seen('Secret shop/a', { labels: { 'argocd.argoproj.io/secret-type': 'repository' } }),
    strangers('parent'),
  ],
  [
    'Argo CD itself',
    seen('Deployment.apps shop/a', { labels: { 'app.kubernetes.io/part-of': 'argocd' } }),
    strangers('parent'),
  ],

  ...[
    ['fettle.dev/keep', 'true'],
    ['fettle.dev/keep', 'the auditors want it'],
    ['client.lifecycle.config.k8s.io/deletion', 'detach'],
    ['cli-utils.sigs.k8s.io/on-remove', 'keep'],
    ['kustomize.toolkit.fluxcd.io/prune', 'Disabled'],
    ['argocd.argoproj.io/sync-options', 'Validate=false, Prune=false'],
    ['kapp.k14s.io/delete-strategy', 'orphan'],
    ['helm.sh/resource-policy', 'keep'],
  ].map(
    ([name = '', value = '']): Row => [
      `kept by ${name}: ${value}`,
      seen('ConfigMap shop/a', { annotations: { [name]: value } }),
      always('keep'),
    ],
  ),
  [
    'kept by a label of Flux',
    seen('ConfigMap shop/a', { labels: { 'kustomize.toolkit.fluxcd.io/prune': 'disabled' } }),
    always('keep'),
  ],
  ...[
    ['fettle.dev/keep', 'false'],
    ['client.lifecycle.config.k8s.io/deletion', 'yes'],
    ['argocd.argoproj.io/sync-options', 'Prune=true'],
    ['helm.sh/resource-policy', ''],
  ].map(
    ([name = '', value = '']): Row => [
      `not kept by ${name}: ${value}`,
      seen('ConfigMap shop/a', { annotations: { [name]: value } }),
      nobody,
    ],
  ),

  [
    'younger than the minimum',
    seen('ConfigMap shop/a', { creationTimestamp: '2026-03-01T11:59:01Z' }),
    strangers('young'),
  ],
  ['of the minimum age', seen('ConfigMap shop/a', { creationTimestamp: '2026-03-01T11:59:00Z' }), nobody],
  ['made in the future', seen('ConfigMap shop/a', { creationTimestamp: '2026-03-01T13:00:00Z' }), strangers('young')],
  ['of unknown age', seen('ConfigMap shop/a', { creationTimestamp: 'soon' }), strangers('young')],

  [
    'of another Sync',
    seen('ConfigMap shop/a', { labels: { 'applyset.kubernetes.io/part-of': 'applyset-x-v1' } }),
    strangers('foreign'),
  ],
  ['of Flux', seen('ConfigMap shop/a', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'x' } }), strangers('foreign')],
  [
    'of Flux, also if what git declares is taken over from it',
    seen('ConfigMap shop/a', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'x' } }),
    strangers('foreign'),
    { policy: fixturePolicy({ adoptFrom: ['flux'] }) },
  ],

  [
    'the same object as a declared one',
    seen('Ingress.extensions shop/a', {}, { uid: 'same' }),
    always('alias'),
    {
      others: [seen('Ingress.networking.k8s.io shop/a', {}, { uid: 'same' })],
      declared: ['Ingress.networking.k8s.io shop/a'],
    },
  ],
  [
    'the same object as an undeclared one',
    seen('Ingress.extensions shop/a', {}, { uid: 'same' }),
    nobody,
    { others: [seen('Ingress.networking.k8s.io shop/a', {}, { uid: 'same' })] },
  ],

  ['of the whole cluster', seen('ClusterRole.rbac.authorization.k8s.io a'), strangers('cluster-scoped')],
]

test.for(rows)('%s', ([, object, expected, surroundings]) => {
  expect(rules(object, surroundings)).toEqual(expected)
})

describe('ignore rules', () => {
  const object = seen('Deployment.apps shop/web-1', { labels: { team: 'a', tier: 'x' } }, { managers: ['helper'] })
  test.for<[Policy['ignore'][number], boolean]>([
    [{ kind: 'Deployment' }, true],
    [{ kind: 'ConfigMap' }, false],
    [{ group: 'apps' }, true],
    [{ group: '' }, false],
    [{ name: 'web-*' }, true],
    [{ name: 'web' }, false],
    [{ labels: { team: 'a' } }, true],
    [{ labels: { team: 'a', tier: 'y' } }, false],
    [{ manager: 'helper' }, true],
    [{ manager: 'kubectl' }, false],
    [{ kind: 'Deployment', name: 'db-*' }, false],
    [{ group: 'apps', kind: 'Deployment', name: '*', labels: { team: 'a' }, manager: 'helper' }, true],
    [{}, false],
  ])('%j', ([rule, isIgnored]) => {
    const expected = isIgnored ? always('ignore') : nobody
    expect(rules(object, { policy: fixturePolicy({ ignore: [rule] }) })).toEqual(expected)
  })
})

test('an owner is followed to the root', () => {
  const pod = seen('Pod shop/a', { ownerReferences: [owner('Thing', 't', false)] })
  const thing = seen('Thing.apps shop/t', { ownerReferences: [owner('Root', 'r')] })
  const world = worldOf(pod, { others: [thing] })
  expect(protectionOf(pod, world, false)?.why).toBe('it belongs to Thing t, which belongs to Root r')
  expect(protectionOf(pod, worldOf(pod), false)?.why).toBe(
    'it belongs to Thing t, which is not seen here; the cluster collects it',
  )
})

test('a ring of owners has an end', () => {
  const one = seen('Thing.apps shop/a', { ownerReferences: [owner('Thing', 'b')] })
  const other = seen('Thing.apps shop/b', { ownerReferences: [owner('Thing', 'a')] })
  expect(protectionOf(one, worldOf(one, { others: [other] }), false)?.rule).toBe('owned')
})

test.for<[ObservedObject, boolean]>([
  [seen('Deployment.apps shop/web'), true],
  [seen('PersistentVolumeClaim shop/a'), true],
  [seen('ConfigMap shop/a', { creationTimestamp: '2026-03-01T11:59:59Z' }), true],
  [seen('ConfigMap shop/a', { annotations: { 'fettle.dev/keep': 'true' } }), true],
  // Each of these is owned, whatever else keeps it.
  [
    seen('ConfigMap shop/a', { annotations: { 'fettle.dev/keep': 'true' }, ownerReferences: [owner('Thing', 't')] }),
    false,
  ],
  [seen('PersistentVolumeClaim shop/a', { ownerReferences: [owner('Thing', 't')] }), false],
  [seen('Endpoints shop/web'), false],
  [seen('ServiceAccount shop/default'), false],
  [seen('ClusterRole.rbac.authorization.k8s.io a'), false],
])('worth declaring: %j', ([object, expected]) => {
  expect(mayBeDeclared(object, worldOf(object))).toBe(expected)
})

test('any mixture of marks is judged alike with the index and without, and a stranger is never worse protected', () => {
  fc.assert(
    fc.property(fc.constantFrom(...rows), fc.constantFrom(...rows), ([, one, , around], [, other]) => {
      // Marks of one object on another make combinations that the rows do not have.
      const mixed = {
        ...one,
        metadata: {
          ...other.metadata,
          ...one.metadata,
          labels: { ...other.metadata.labels, ...one.metadata.labels },
          annotations: { ...other.metadata.annotations, ...one.metadata.annotations },
        },
      }
      const world = worldOf(mixed, around)
      const [stranger, member] = [false, true].map((isMember) => protectionOf(mixed, world, isMember))
      if (member) expect(stranger).toBeDefined()
      expect(protectionOf(mixed, pruneWorld(world), false)).toEqual(stranger)
      expect(protectionOf(mixed, pruneWorld(world), true)).toEqual(member)
    }),
  )
})
