import type { Key } from '../key.ts'
import type { ObservedObject } from '../observed.ts'
import { type ProtectionRule, when } from './protection-rule.ts'
import { mayLive } from './prune-world.ts'
import {
  driverKinds,
  endpointKinds,
  eventKinds,
  isOneOf,
  metricKinds,
  reportKinds,
  reviewKinds,
} from './system-kinds.ts'

const accountName = 'kubernetes.io/service-account.name'
const trustBundles = new Set([
  'kube-root-ca.crt',
  'openshift-service-ca.crt',
  'istio-ca-root-cert',
  'istio-ca-crl',
  'linkerd-identity-trust-roots',
])
const systemNamespaces = new Set(['kube-system', 'kube-public', 'kube-node-lease'])

const isCore = ({ group, kind }: Key, wanted: string) => group === '' && kind === wanted

/** What the cluster and its add-ons make by themselves. */
export const clusterRules: readonly ProtectionRule[] = [
  { rule: 'events', why: ({ key }) => when(isOneOf(key, eventKinds), 'events are a record and go by themselves') },
  {
    rule: 'endpoints',
    isForStrangers: true,
    why: ({ key }) => when(isOneOf(key, endpointKinds), `the cluster keeps ${key.kind} for Services`),
  },
  {
    rule: 'lease',
    isForStrangers: true,
    why: ({ key, metadata }) => {
      if (key.group === 'coordination.k8s.io') return 'a program holds it while it leads'
      const leader = metadata.annotations?.['control-plane.alpha.kubernetes.io/leader']
      return when(leader !== undefined, 'a program elects its leader with it')
    },
  },
  { rule: 'metrics', why: ({ key }) => when(isOneOf(key, metricKinds), 'metrics are measured, not stored') },
  { rule: 'reviews', why: ({ key }) => when(isOneOf(key, reviewKinds), `a ${key.kind} is a question, not a thing`) },
  {
    rule: 'storage-capacity',
    isForStrangers: true,
    why: ({ key }) => when(isOneOf(key, driverKinds), `a driver writes each ${key.kind}`),
  },
  {
    rule: 'reports',
    isForStrangers: true,
    why: ({ key }) => when(isOneOf(key, reportKinds), `another program writes each ${key.kind}`),
  },
  {
    rule: 'root-ca',
    why: ({ key, metadata }) =>
      when(
        isCore(key, 'ConfigMap') &&
          (trustBundles.has(key.name) || metadata.labels?.['trust.cert-manager.io/bundle'] !== undefined),
        'it is published into every namespace, for programs to trust each other',
      ),
  },
  {
    rule: 'sa-default',
    why: (object) => {
      if (isCore(object.key, 'ServiceAccount') && object.key.name === 'default')
        return 'every namespace has this account'
      return when(accountOf(object) === 'default', 'it belongs to the default ServiceAccount')
    },
  },
  {
    rule: 'sa-token',
    isForStrangers: true,
    why: (object, world) => {
      const name = accountOf(object)
      if (name === undefined) return undefined
      const account = { group: '', kind: 'ServiceAccount', namespace: object.key.namespace, name }
      return when(mayLive(world, account), `it is a token of ServiceAccount ${name}`)
    },
  },
  {
    rule: 'kube-ns',
    why: ({ key }) =>
      when(
        isCore(key, 'Service') && key.name === 'kubernetes' && key.namespace === 'default',
        'it is the address of the API server',
      ),
  },
  {
    rule: 'kube-ns',
    isForStrangers: true,
    why: ({ key }) => when(systemNamespaces.has(key.namespace), `${key.namespace} belongs to the cluster itself`),
  },
  {
    rule: 'cluster-scoped',
    isForStrangers: true,
    why: ({ key }) => when(key.namespace === '', 'it belongs to the whole cluster, not to a namespace of this Sync'),
  },
]

/** The ServiceAccount that a Secret was made for. */
function accountOf({ key, type, metadata }: ObservedObject): string | undefined {
  if (!isCore(key, 'Secret')) return undefined
  const isMadeFor = type === 'kubernetes.io/service-account-token' || type === 'kubernetes.io/dockercfg'
  return isMadeFor ? metadata.annotations?.[accountName] : undefined
}
