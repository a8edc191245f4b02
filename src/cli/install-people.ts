import { group, kinds, virtualVerbs } from '../api/index.ts'
import { resources } from '../kube/index.ts'
import { commonLabels, type Manifest, manifest, type Placement } from './install-names.ts'
import { type PolicyRule, rule } from './install-rbac.ts'

/** A role for people. Nobody has it until an administrator binds it. */
export interface PeopleRole {
  readonly name: string
  /** Completes "for those who …". */
  readonly isFor: string
  readonly rules: readonly PolicyRule[]
  /** Its rules become part of this role of Kubernetes. */
  readonly aggregateTo?: 'view'
}

const requests = 'maintenancerequests'
const budgets = 'maintenancebudgets'
const plurals = kinds.map(({ plural }) => plural)
/** Written by people, and nothing but settings. */
const settings = plurals.filter((plural) => plural !== requests && plural !== budgets)

const readKinds = rule(group, plurals, ['get', 'list', 'watch'])
/** What the commands look at beside our own kinds. */
const readRules = [
  readKinds,
  rule('', ['nodes'], ['get', 'list']),
  rule('', ['pods'], ['list']),
  rule('apps', ['daemonsets'], ['list']),
  rule('policy', ['poddisruptionbudgets'], ['list']),
]

const operatorVerbs = ['retry', 'release', 'skip']
// What only the controller says is not a right for people.
const adminVerbs = virtualVerbs.filter(({ verb }) => verb !== 'answer')
const verbsOn = (plural: string) => adminVerbs.filter(({ resource }) => resource === plural).map(({ verb }) => verb)

export const peopleRoles: readonly PeopleRole[] = [
  {
    name: 'fettle-view',
    isFor: 'look: `fettle status`, `queue`, `explain`, `lock`, `node history`',
    rules: readRules,
  },
  {
    name: 'fettle-operator',
    isFor: 'take nodes out, give them back, and freeze; to create a request is to be able to drain any node',
    rules: [
      ...readRules,
      rule(group, [requests], ['create', 'patch', ...operatorVerbs]),
      // To stop everything must not wait for somebody with more rights.
      rule(group, ['maintenancefreezes'], ['create', 'patch', 'delete']),
      // A server's dry run of an eviction asks for the same right as the eviction.
      rule('', ['pods/eviction'], ['create']),
    ],
  },
  {
    name: 'fettle-admin',
    isFor: 'decide what others may not: the budget, and whatever goes past it, past windows or past pods that stay',
    rules: [
      ...readRules,
      // `fettle profiles pause`, `resume` and `abort` annotate the node; there is no smaller right than to patch it, and it is
      // too large for whoever only takes nodes out.
      rule('', ['nodes'], ['patch']),
      rule(group, [requests], ['create', 'patch', 'update', 'delete', ...verbsOn(requests)]),
      rule('', ['pods/eviction'], ['create']),
      rule(group, [budgets], ['create', 'patch', 'update', ...verbsOn(budgets)]),
      rule(group, settings, ['create', 'patch', 'update', 'delete']),
    ],
  },
  {
    name: 'fettle-aggregate-to-view',
    isFor: 'have the role view in the whole cluster: they see our kinds, too',
    rules: [readKinds],
    aggregateTo: 'view',
  },
]

export function peopleManifests(placement: Placement): Manifest[] {
  return peopleRoles.map(({ name, rules, aggregateTo }) => {
    const aggregated = aggregateTo ? { [`rbac.authorization.k8s.io/aggregate-to-${aggregateTo}`]: 'true' } : {}
    return manifest(resources.clusterRoles, { name, labels: { ...commonLabels(placement), ...aggregated } }, { rules })
  })
}
