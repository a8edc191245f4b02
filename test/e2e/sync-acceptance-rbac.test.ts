import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { isNotFound, type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import { createAccount, eventually, requestToken, type Test } from '../support/e2e-cluster.ts'
import { writeKubeconfig } from '../support/e2e-identity.ts'
import { configMap, configMapFiles, prepareSync, type SyncScene } from '../support/sync-command.ts'
import { customKind } from '../support/sync-custom-kind.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}
type Printed = KubeObject & { readonly kind: string; readonly rules?: readonly Rule[] }

const kinds: Readonly<Record<string, Resource>> = {
  Role: resources.roles,
  RoleBinding: resources.roleBindings,
  ClusterRole: resources.clusterRoles,
  ClusterRoleBinding: resources.clusterRoleBindings,
}

/** Somebody who has what `rbac` prints and nothing else, also not what it printed before. */
async function prepareLeast(context: Test, scene: SyncScene, ...flags: readonly string[]) {
  const { admin, sync } = scene
  const account = await createAccount(scene, 'least')
  const kubeconfig = writeKubeconfig(context, scene, { token: await requestToken(admin, account) })
  let given: readonly Printed[] = []
  const takeAll = async () => {
    for (const object of given) {
      const { name = '', namespace } = object.metadata
      await admin.delete(kindOf(object), { name, ...(namespace ? { namespace } : {}) }, { uid: 'any' })
    }
    given = []
  }
  context.onTestFinished(takeAll)
  return {
    as: [...flags, '--kubeconfig', kubeconfig],
    /** Answers the resources that may be deleted. */
    grant: async () => {
      const { stdout, stderr } = await sync('rbac', '--service-account', account.name, ...flags)
      const printed = parseAllDocuments(stdout).map((document) => document.toJS() as Printed)
      expect(printed.length, stderr).toBeGreaterThan(0)
      expect(stdout).not.toContain('*')
      await takeAll()
      for (const object of printed) {
        await admin.create(kindOf(object), object)
        given = [...given, object]
      }
      // The API server's own view of roles follows a moment later.
      for (const { metadata, rules = [] } of printed)
        for (const rule of rules)
          await eventually(async () => expect(await mayDo(scene, account.user, rule, metadata.namespace)).toBe(true), {
            withinMs: 10_000,
          })
      return printed
        .flatMap(({ rules = [] }) => rules)
        .filter(({ verbs }) => verbs.includes('delete'))
        .flatMap((rule) => rule.resources)
        .sort()
    },
  }
}

function kindOf({ kind }: Printed): Resource {
  const resource = kinds[kind]
  if (!resource) throw new Error(`rbac printed a ${kind}`)
  return resource
}

async function mayDo({ admin }: SyncScene, user: string, rule: Rule, namespace = ''): Promise<boolean> {
  const [group, resource, verb, name] = [rule.apiGroups[0], rule.resources[0], rule.verbs[0], rule.resourceNames?.[0]]
  const { status } = await admin.request<{ readonly status: { readonly allowed: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes: { namespace, group, resource, verb, name } },
    },
  })
  return status.allowed
}

const web = (config: string) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: example.org/web:1, envFrom: [{configMapRef: {name: ${config}}}]}
`

test('what rbac prints is enough to create, to change, to remove, and to be rid of a kind', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, sync, plan, read, configMaps, namespace, admin } = scene
  const priority = (description: string) =>
    `apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: ${namespace}}\nvalue: 7\ndescription: ${description}\n`
  const priorities = {
    ...{ group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' },
    ...{ kind: 'PriorityClass', namespaced: false },
  }
  context.onTestFinished(async () => {
    await admin.delete(priorities, { name: namespace }, { uid: 'any' }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
  })
  const { as, grant } = await prepareLeast(
    context,
    scene,
    '--cluster-kind',
    `PriorityClass.scheduling.k8s.io=${namespace}`,
  )

  repository.commit('create', {
    'web.yaml': web('config-1'),
    ...configMapFiles('config-1', 'goes', 'stays', 'also', 'too'),
    'account.yaml': 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: only}\n',
    'priority.yaml': priority('low'),
  })
  expect(await grant()).toEqual(['configmaps', 'deployments', 'priorityclasses', 'serviceaccounts'])
  await run(0, ...as)
  expect(await read(resources.serviceAccounts, 'only')).toBeDefined()

  // What pods may still mount goes only if it is known what they do.
  repository.commit('change', {
    'web.yaml': web('config-2'),
    'config-1.yaml': undefined,
    'config-2.yaml': configMap('config-2'),
    'priority.yaml': priority('lower'),
  })
  await grant()
  expect((await run(0, ...as)).stdout).toMatch(/gone {5}ConfigMap .*config-1/)
  expect(await read(priorities, namespace)).toMatchObject({ description: 'lower' })

  repository.commit('remove', { 'goes.yaml': undefined })
  await grant()
  await run(0, ...as)
  expect(await configMaps('config-1', 'config-2', 'goes', 'stays')).toEqual(['config-2', 'stays'])

  // Git says nothing of these kinds any more; that they are there is only remembered.
  repository.commit('no account, no priority', { 'account.yaml': undefined, 'priority.yaml': undefined })
  expect(await grant()).toEqual(['configmaps', 'deployments', 'priorityclasses', 'serviceaccounts'])
  await run(0, ...as, '--allow-deletes', '2')
  expect(await read(resources.serviceAccounts, 'only')).toBeUndefined()
  expect(await read(priorities, namespace)).toBeUndefined()

  expect(await grant()).toEqual(['configmaps', 'deployments'])
  expect((await plan(...as)).deeds).toEqual([])
  const verified = await sync('verify', '--kubeconfig', as.at(-1) ?? '')
  expect(verified, verified.stdout + verified.stderr).toMatchObject({ code: 0 })
})

test('what rbac prints is enough to hand on rights, and no others', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, read, namespace, admin } = scene
  const name = `${namespace}-gathered`
  context.onTestFinished(() => admin.delete(resources.clusterRoles, { name }, { uid: 'any' }))
  const flags = ['--cluster-kind', `ClusterRole.rbac.authorization.k8s.io=${namespace}-*`]
  const { as, grant } = await prepareLeast(context, scene, ...flags)
  const role = (resource: string) => `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [''], resources: [${resource}], verbs: [list]}]
`
  const binding = (target: string) => `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ${target.toLowerCase()}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ${target}, name: ${target === 'Role' ? 'reader' : 'view'}}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: somebody}]
`
  repository.commit('rights', {
    'role.yaml': role('events'),
    'own.yaml': binding('Role'),
    'common.yaml': binding('ClusterRole'),
    'gathered.yaml': `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ${name}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {gathered: for-${namespace}}}]}
`,
  })
  await grant()
  await run(0, ...as)
  expect(await read(resources.roleBindings, 'clusterrole')).toBeDefined()
  expect(await read(resources.clusterRoles, name)).toBeDefined()

  // More than the account has: the server refuses, and says what is missing.
  repository.commit('more rights', { 'role.yaml': role('podtemplates') })
  const refused = await run(1, ...as)
  expect(refused.stdout + refused.stderr).toContain('attempting to grant RBAC permissions not currently held')
  await grant()
  await run(0, ...as)
  expect(await read(resources.roles, 'reader')).toMatchObject({ rules: [{ resources: ['podtemplates'] }] })
})

test('what rbac prints is enough for a kind that the same commit defines, and for its end', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, read, namespace, admin } = scene
  const { manifest, instance, resource, name, group } = customKind(namespace)
  context.onTestFinished(() =>
    admin.delete(resources.customResourceDefinitions, { name }, { uid: 'any' }).catch(() => undefined),
  )
  const allowed = ['--cluster-kind', `CustomResourceDefinition.apiextensions.k8s.io=*.${group}`]
  const { as, grant } = await prepareLeast(context, scene, ...allowed)
  repository.commit('a kind and one of it', {
    'instance.yaml': instance('first'),
    'kind.yaml': manifest,
    ...configMapFiles('stays', 'stays-too'),
  })
  expect(await grant()).toEqual(['configmaps', 'customresourcedefinitions', 'widgets'])
  await run(0, ...as)
  expect(await read(resource, 'first')).toBeDefined()

  repository.commit('neither', { 'instance.yaml': undefined, 'kind.yaml': undefined })
  await grant()
  const { uid = '' } = (await read(resources.customResourceDefinitions, name))?.metadata ?? {}
  await run(0, ...as, '--confirm', uid, '--allow-deletes', '6')
  expect(await read(resources.customResourceDefinitions, name)).toBeUndefined()
  expect(await grant()).toEqual(['configmaps'])
})
