import { expect, test } from 'vitest'
import { isConflict, type KubeObject, resources } from '../../src/kube/index.ts'
import { prepareGround } from '../support/e2e-cluster.ts'
import { type ConfigMap, configMap } from '../support/e2e-config-maps.ts'

interface Managed extends ConfigMap {
  readonly metadata: ConfigMap['metadata'] & {
    readonly managedFields?: readonly {
      readonly manager: string
      readonly operation: string
      readonly fieldsV1?: object
    }[]
  }
}

const shape = (namespace: string, data: Readonly<Record<string, string>>): Managed => ({
  metadata: { name: 'shared', namespace },
  data,
})

test('each manager owns what it applied: a field that it leaves out goes, and those of others stay', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  await admin.apply(resources.configMaps, shape(namespace, { ours: '1', dropped: '1' }), { fieldManager: 'fettle-a' })
  await admin.apply(resources.configMaps, shape(namespace, { theirs: '1' }), { fieldManager: 'fettle-b' })
  const last = await admin.apply(resources.configMaps, shape(namespace, { ours: '2' }), { fieldManager: 'fettle-a' })
  expect(last.data).toEqual({ ours: '2', theirs: '1' })
  const owners = last.metadata.managedFields?.map(({ manager, operation, fieldsV1 }) => ({
    manager,
    operation,
    fieldsV1,
  }))
  expect(owners).toEqual([
    { manager: 'fettle-a', operation: 'Apply', fieldsV1: { 'f:data': { 'f:ours': {} } } },
    { manager: 'fettle-b', operation: 'Apply', fieldsV1: { 'f:data': { 'f:theirs': {} } } },
  ])
})

test('a field of another manager is a Conflict that names it, and nothing changes until force takes it over', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  await admin.apply(resources.configMaps, shape(namespace, { level: 'theirs' }), { fieldManager: 'somebody-else' })
  const wanted = shape(namespace, { level: 'ours', more: 'ours' })
  const refusal = await admin
    .apply(resources.configMaps, wanted, { fieldManager: 'fettle' })
    .catch((error: unknown) => error)
  expect(isConflict(refusal)).toBe(true)
  expect(String(refusal)).toContain('conflict with "somebody-else"')
  expect(refusal).toMatchObject({
    status: 409,
    attempts: 1,
    details: { causes: [{ reason: 'FieldManagerConflict', field: '.data.level' }] },
  })
  const ref = { name: 'shared', namespace }
  expect((await admin.get<Managed>(resources.configMaps, ref)).data).toEqual({ level: 'theirs' })

  await admin.apply(resources.configMaps, wanted, { fieldManager: 'fettle', force: true })
  expect((await admin.get<Managed>(resources.configMaps, ref)).data).toEqual({ level: 'ours', more: 'ours' })
  // Now it is the other one who is refused.
  const theirs = admin.apply(resources.configMaps, shape(namespace, { level: 'theirs' }), {
    fieldManager: 'somebody-else',
  })
  await expect(theirs).rejects.toMatchObject({ code: 'Conflict', seen: expect.stringContaining('"fettle"') as string })
})

test('applying an unchanged configuration again changes nothing, not even the version', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const apply = () => admin.apply(resources.configMaps, shape(namespace, { a: '1' }), { fieldManager: 'fettle' })
  const [first, second] = [await apply(), await apply()]
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
})

test('an apply that insists on a version is refused when the object has moved on', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const first = await admin.apply(resources.configMaps, shape(namespace, { a: '1' }), { fieldManager: 'fettle' })
  await admin.apply(resources.configMaps, shape(namespace, { a: '2' }), { fieldManager: 'fettle' })
  const { resourceVersion = '' } = first.metadata
  const stale = { ...shape(namespace, { a: '3' }), metadata: { name: 'shared', namespace, resourceVersion } }
  await expect(admin.apply(resources.configMaps, stale, { fieldManager: 'fettle' })).rejects.toMatchObject({
    code: 'Conflict',
  })
})

test('a dry run answers what would be and changes nothing, whatever the verb', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const stored = await admin.create(resources.configMaps, configMap(namespace, 'stored', 'first'))
  const { metadata } = stored
  const ref = { name: 'stored', namespace }
  const dryRun = true
  const created = await admin.create(resources.configMaps, configMap(namespace, 'never'), { dryRun })
  expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
  const applied = await admin.apply<ConfigMap>(
    resources.configMaps,
    { metadata: ref, data: { value: 'applied' } },
    { fieldManager: 'fettle', force: true, dryRun },
  )
  expect(applied.data).toEqual({ value: 'applied' })
  const patched = await admin.patch<ConfigMap>(
    resources.configMaps,
    ref,
    { type: 'merge', body: { data: { value: 'patched' } } },
    { dryRun },
  )
  expect(patched.data).toEqual({ value: 'patched' })
  const replaced = await admin.replace<ConfigMap>(
    resources.configMaps,
    { ...stored, data: { value: 'replaced' } },
    { dryRun },
  )
  expect(replaced.data).toEqual({ value: 'replaced' })
  await admin.delete(resources.configMaps, ref, { uid: metadata.uid ?? '', dryRun })

  const after = await admin.get<KubeObject>(resources.configMaps, ref)
  expect(after.metadata.resourceVersion).toBe(metadata.resourceVersion)
  await expect(admin.get(resources.configMaps, { name: 'never', namespace })).rejects.toMatchObject({
    code: 'NotFound',
  })
})
