import { expect, test } from 'vitest'
import { installManifests, nameOf } from './install-manifests.ts'

const settings = {
  namespace: 'fettle-system',
  version: '1.0.0',
  managedBy: 'fettle',
  image: 'image',
  replicas: 1,
  nodeSelector: {},
  agentArgs: [],
  sharedLocks: [],
}

test('without profiles nothing of them is made', () => {
  expect(JSON.stringify(installManifests(settings))).not.toMatch(/fettle-profiles|--profiles|8082/)
})

test('profiles bring a ConfigMap and rights, in each namespace once', () => {
  const before = new Set(installManifests(settings).map(nameOf))
  const profiles = { config: 'text', leaseNamespaces: ['kube-system', 'fettle-system'] }
  const made = installManifests({ ...settings, profiles })
  expect(made.map(nameOf).filter((name) => !before.has(name))).toEqual([
    'ConfigMap fettle-system/fettle-profiles',
    'ClusterRole fettle-profiles',
    'ClusterRoleBinding fettle-profiles',
    'Role fettle-system/fettle-profiles',
    'RoleBinding fettle-system/fettle-profiles',
    'Role kube-system/fettle-profiles',
    'RoleBinding kube-system/fettle-profiles',
  ])
  const [map] = made.filter((one) => nameOf(one).startsWith('ConfigMap'))
  expect(map?.object).toMatchObject({ data: { 'maintenance.yaml': 'text' } })
})

test('the lease of maintenance-controller in another namespace is named to the controller, which may keep it there', () => {
  const argument = '--original-lease-namespace=ops'
  const profiles = { config: 'text', leaseNamespaces: [] }
  expect(JSON.stringify(installManifests({ ...settings, profiles }))).not.toContain('--original-lease-namespace')
  const made = installManifests({ ...settings, profiles: { ...profiles, originalLeaseNamespace: 'ops' } })
  expect(JSON.stringify(made.find((one) => nameOf(one).startsWith('Deployment')))).toContain(argument)
  const role = made.find((one) => nameOf(one) === 'Role ops/fettle-profiles')
  expect(role?.object).toMatchObject({
    rules: [{ resources: ['leases'], verbs: ['get', 'create', 'patch', 'update'] }],
  })
  expect(made.map(nameOf)).toContain('RoleBinding ops/fettle-profiles')
})
