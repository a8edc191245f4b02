import { expect, test } from 'vitest'
import type { Plan } from '../sync/index.ts'
import { askedOnly } from './sync-plan.ts'

const keep = (kind: string, namespace: string, name: string, rule: string) => ({
  do: 'keep' as const,
  key: { group: kind.startsWith('Cluster') ? 'rbac.authorization.k8s.io' : '', kind, namespace, name },
  rule,
  why: 'it stays',
})

test('of the whole cluster only members are told of, and what --cluster-kind names', () => {
  const steps = [
    keep('ClusterRole', '', 'admin', 'out-of-scope'),
    keep('ClusterRole', '', 'shop-reader', 'cluster-scoped'),
    keep('ClusterRole', '', 'was-ours', 'out-of-scope'),
    keep('ConfigMap', 'shop', 'kube-root-ca.crt', 'root-ca'),
    keep('Namespace', '', 'shop', 'cluster-scoped'),
  ]
  const plan: Plan = { steps, hash: 'abc', unchanged: 0, budget: { used: 0, limit: 10 }, halts: [] }
  const { key } = keep('ClusterRole', '', 'was-ours', '')
  const members = [{ key, apiVersion: 'rbac.authorization.k8s.io/v1' }]
  const inventory = { members, strangers: {}, verdicts: [], approvals: [], deletions: [] }
  const memory = { inventory, hashKey: Buffer.alloc(32), setId: 'ours', isNew: false }
  expect(askedOnly({ plan, memory }).plan.steps.map((step) => step.key.name)).toEqual([
    'shop-reader',
    'was-ours',
    'kube-root-ca.crt',
  ])
})
