import type { Resource } from '../kube/index.ts'
import type { DeclaredObject } from './declared.ts'
import { isObject, type JsonObject } from './json.ts'
import { groupOf, type Key } from './key.ts'
import { grouped } from './observe/grouped.ts'
import { alwaysLooked, type KindName, looksOf } from './observe/looks.ts'
import { isInScope } from './plan/scope.ts'
import { managerOf, type Policy } from './policy.ts'
import { type Survey, servedAs } from './survey.ts'

type Found = Pick<Survey, 'set' | 'catalog' | 'memory'>
type Kind = Pick<Resource, 'group' | 'plural'>

interface Grant extends Kind {
  /** Empty for the whole cluster. */
  readonly namespace: string
  /** All names, if none is given. */
  readonly name?: string
  readonly verbs: readonly string[]
}

const rbacGroup = 'rbac.authorization.k8s.io'
const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'bind', 'escalate']
const declaredVerbs = ['get', 'list', 'watch', 'create', 'patch', 'delete']
const leavingVerbs = ['get', 'list', 'watch', 'delete']
const definitions = { group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' }

/**
 * The least rights that carry out a Sync as git and the cluster are now: its kinds in its namespaces, what is looked at
 * besides, and what it remembers. A commit with another kind, or another object of the whole cluster, needs more.
 */
export function rbacFor(found: Found, policy: Policy, serviceAccount: string): readonly JsonObject[] {
  const [own = ''] = policy.namespaces
  const name = managerOf(policy.name)
  const subjects = [{ kind: 'ServiceAccount', name: serviceAccount, namespace: own }]
  const grants = [
    ...objectGrants(found, policy),
    ...handedOnGrants(found, policy),
    ...lookGrants(found, policy),
    ...memoryGrants(policy),
  ]
  const rulesIn = (namespace: string) => [...rulesFor(grants, namespace), ...handedOnRules(found, policy, namespace)]
  const ofCluster = rulesIn('')
  return [
    ...policy.namespaces.flatMap((namespace) => roleAndBinding('', { name, namespace }, rulesIn(namespace), subjects)),
    // Two Syncs of one name may live in two namespaces.
    ...(ofCluster.length > 0 ? roleAndBinding('Cluster', { name: `${name}.${own}` }, ofCluster, subjects) : []),
  ]
}

function roleAndBinding(
  scope: '' | 'Cluster',
  metadata: JsonObject & { readonly name: string },
  rules: readonly JsonObject[],
  subjects: readonly JsonObject[],
): readonly JsonObject[] {
  const apiVersion = `${rbacGroup}/v1`
  const roleRef = { apiGroup: rbacGroup, kind: `${scope}Role`, name: metadata.name }
  return [
    { apiVersion, kind: `${scope}Role`, metadata, rules },
    { apiVersion, kind: `${scope}RoleBinding`, metadata, roleRef, subjects },
  ]
}

/** What is declared is written; what is only remembered is on its way out. */
function objectGrants(found: Found, policy: Policy): readonly Grant[] {
  if (policy.mode === 'observe') return []
  const grantsFor = (one: KindName & { readonly key: Key }, verbs: readonly string[]) => {
    const kind = isInScope(one.key, policy) ? kindOf(found, one) : undefined
    return kind ? [...verbsOn(kind, one.key, verbs), ...instanceGrants(one.key)] : []
  }
  return [
    ...found.set.objects.flatMap((one) => grantsFor(named(one), declaredVerbs)),
    ...found.memory.inventory.members.flatMap((one) => grantsFor(named(one), leavingVerbs)),
  ]
}

/** Nobody may hand on what is not his own, except to those whom he may bind, and in roles that may outgrow him. */
function handedOnGrants(found: Found, policy: Policy): readonly Grant[] {
  return declaredRbac(found, policy).flatMap(({ key, body }): readonly Grant[] => {
    const { kind, name } = isObject(body['roleRef']) ? body['roleRef'] : {}
    if (typeof name === 'string') {
      const plural = kind === 'ClusterRole' ? 'clusterroles' : 'roles'
      return [{ group: rbacGroup, plural, namespace: key.namespace, name, verbs: ['bind'] }]
    }
    // What it gathers is known to nobody in advance.
    if (body['aggregationRule'] === undefined) return []
    return [{ group: rbacGroup, plural: 'clusterroles', namespace: '', name: key.name, verbs: ['escalate'] }]
  })
}

/** What declared roles give. Leave to write anything into them would be more. */
function handedOnRules(found: Found, policy: Policy, namespace: string): readonly JsonObject[] {
  return declaredRbac(found, policy)
    .filter(({ key, body }) => key.namespace === namespace && body['aggregationRule'] === undefined)
    .flatMap(({ body: { rules } }) => (Array.isArray(rules) ? rules.filter(isObject) : []))
}

function declaredRbac({ set }: Found, policy: Policy): readonly DeclaredObject[] {
  if (policy.mode === 'observe') return []
  return set.objects.filter(({ key }) => key.group === rbacGroup && isInScope(key, policy))
}

const named = ({ apiVersion, key }: { readonly apiVersion: string; readonly key: Key }) => ({
  apiVersion,
  kind: key.kind,
  key,
})

/** Of the whole cluster only the very objects; a list or a watch cannot be held to names. */
function verbsOn({ group, plural }: Kind, { namespace, name }: Key, verbs: readonly string[]): readonly Grant[] {
  const grant = { group, plural, namespace }
  if (namespace !== '') return [{ ...grant, verbs }]
  const isOfAll = (verb: string) => verb === 'list' || verb === 'watch'
  return [
    { ...grant, verbs: verbs.filter(isOfAll) },
    { ...grant, name, verbs: verbs.filter((verb) => !isOfAll(verb)) },
  ]
}

/** A definition goes only when there is nothing of its kind, anywhere. */
function instanceGrants(key: Key): readonly Grant[] {
  return isDefinition(key) ? [{ ...definedKind(key), namespace: '', verbs: ['list'] }] : []
}

function isDefinition({ group, kind }: Key): boolean {
  return group === definitions.group && kind === 'CustomResourceDefinition'
}

/** A definition is named after its kind; the server takes no other name. */
function definedKind({ name }: Key): Kind {
  const [plural = '', ...group] = name.split('.')
  return { group: group.join('.'), plural }
}

/** As the server calls it, or as the commit that brings it does. */
function kindOf({ catalog, set }: Found, { apiVersion, kind }: KindName): Kind | undefined {
  const group = groupOf(apiVersion)
  const served = servedAs(catalog, apiVersion, kind) ?? catalog.versionsOf(group, kind)[0]?.resource
  if (served) return served
  const definition = set.objects.find(({ key, body: { spec } }) => {
    const names = isDefinition(key) && key.name.endsWith(`.${group}`) && isObject(spec) ? spec['names'] : undefined
    return isObject(names) && names['kind'] === kind
  })
  return definition && definedKind(definition.key)
}

/** The lists that a plan is made from. What may not be read is unknown, and then nothing that depends on it goes. */
function lookGrants({ catalog, set, memory }: Found, { namespaces, mode }: Policy): readonly Grant[] {
  const members = memory.inventory.members.map(named)
  const kinds = [...set.objects.map(named), ...members, ...alwaysLooked]
  const scope = {
    namespaces,
    kinds: mode === 'adopt' ? kinds : 'all',
    full: kinds,
    declaredSecrets: new Set<string>(),
  } as const
  const verbs = mode === 'total' ? leavingVerbs : ['list']
  const lists = looksOf(catalog, scope).looks.map(({ served: { resource }, namespace = '' }): Grant => {
    const { group, plural } = resource
    return { group, plural, namespace, verbs: namespace === '' ? ['list'] : verbs }
  })
  const isAnyUnserved = members.some(({ key }) => catalog.versionsOf(key.group, key.kind).length === 0)
  return [
    ...lists,
    ...namespaces.flatMap((namespace): readonly Grant[] => [
      { group: '', plural: 'pods', namespace, verbs: ['watch'] },
      { group: '', plural: 'namespaces', namespace, name: namespace, verbs: ['get'] },
    ]),
    // Whether a kind that is served no more is gone, or only late.
    ...(isAnyUnserved ? [{ ...definitions, namespace: '', verbs: ['list'] }] : []),
    // Whose the kinds of strangers are.
    ...(mode === 'adopt'
      ? []
      : [{ group: 'apiregistration.k8s.io', plural: 'apiservices', namespace: '', verbs: ['list'] }]),
  ]
}

function memoryGrants({ name, namespaces: [namespace = ''], mode }: Policy): readonly Grant[] {
  const secrets = { group: '', plural: 'secrets', namespace }
  const leases = { group: 'coordination.k8s.io', plural: 'leases', namespace }
  return [
    // Watched, so that what a person approves is seen at once.
    { ...secrets, verbs: ['get', 'list', 'watch', ...(mode === 'observe' ? [] : ['create', 'update'])] },
    { ...leases, verbs: ['create'] },
    { ...leases, name: managerOf(name), verbs: ['get', 'update'] },
  ]
}

/** As few rules as say it, in an order that depends on nothing else. */
function rulesFor(grants: readonly Grant[], namespace: string): readonly JsonObject[] {
  const here = grants.filter((one) => one.namespace === namespace)
  const merged = [...grouped(here, ({ group, plural, name = '' }) => `${group} ${plural} ${name}`).values()].flatMap(
    ([first, ...more]) => {
      const given = new Set([first, ...more].flatMap((one) => one?.verbs ?? []))
      return first ? [{ ...first, verbs: verbOrder.filter((verb) => given.has(verb)) }] : []
    },
  )
  const alike = grouped(
    merged,
    ({ group, plural, name, verbs }) => `${group} ${name === undefined ? '' : plural} ${verbs.join()}`,
  )
  return [...alike]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, same]) => {
      const names = same.flatMap(({ name }) => name ?? []).sort()
      return {
        apiGroups: [same[0]?.group ?? ''],
        resources: [...new Set(same.map(({ plural }) => plural))].sort(),
        ...(names.length > 0 ? { resourceNames: names } : {}),
        verbs: same[0]?.verbs ?? [],
      }
    })
}
