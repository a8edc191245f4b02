import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { bindClusterRole, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, whoAmI, writeKubeconfig } from '../support/e2e-identity.ts'

test('impersonation carries user, uid, groups and extra to the server', async (context) => {
  const ground = await prepareGround(context)
  const user = {
    ...adminEntries(ground).user,
    as: 'jane',
    'as-uid': 'uid-of-jane',
    'as-groups': ['developers', 'on-call, and tired'],
    'as-user-extra': { 'example.com/team': ['one', 'two'], reason: ['because'] },
  }
  const client = await connectWith(context, writeKubeconfig(context, ground, user))
  expect(await whoAmI(client)).toEqual({
    username: 'jane',
    uid: 'uid-of-jane',
    groups: ['developers', 'on-call, and tired', 'system:authenticated'],
    extra: { 'example.com/team': ['one', 'two'], reason: ['because'] },
  })
})

test('as somebody without rights a call is Forbidden, once, and allowed when a role is bound', async (context) => {
  const ground = await prepareGround(context)
  const [name, group] = [`reader-of-${ground.namespace}`, `readers-of-${ground.namespace}`]
  const user = { ...adminEntries(ground).user, as: name, 'as-groups': ['others', group] }
  const client = await connectWith(context, writeKubeconfig(context, ground, user))
  const read = () => client.get(resources.serviceAccounts, { name: 'default', namespace: ground.namespace })
  const refusal = await read().catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'Forbidden', status: 403, attempts: 1, kind: 'terminal' })
  expect(String(refusal)).toContain(`User "${name}" cannot get resource "serviceaccounts"`)
  await bindClusterRole(context, ground.admin, 'view', { kind: 'Group', name: group })
  await eventually(read, { withinMs: 10_000 })
})
