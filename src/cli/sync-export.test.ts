import { expect, test } from 'vitest'
import { exportFiles } from './sync-export.ts'

const key = (kind: string, name: string, group = '') => ({ group, kind, namespace: 'shop', name })

test('files are called by kind, group and name', () => {
  expect(exportFiles([key('ConfigMap', 'a'), key('Deployment', 'web', 'apps')])).toEqual([
    'configmap-a.yaml',
    'deployment.apps-web.yaml',
  ])
})

test('no two objects share a file, also if their names differ only in what a file cannot say', () => {
  const rbac = 'rbac.authorization.k8s.io'
  const keys = [
    key('Role', 'system:a', rbac),
    key('Role', 'system_a', rbac),
    key('Role', 'System:a', rbac),
    key('Role', 'system_a-2', rbac),
  ]
  const files = exportFiles(keys)
  expect(files).toEqual([
    `role.${rbac}-system_a.yaml`,
    `role.${rbac}-system_a-2.yaml`,
    `role.${rbac}-system_a-3.yaml`,
    `role.${rbac}-system_a-2-2.yaml`,
  ])
  expect(new Set(files).size).toBe(keys.length)
})
