import type { Resource } from '../../src/kube/index.ts'

/** A kind that no other test has. */
export function customKind(mark: string) {
  const group = `${mark}.example.org`
  const resource: Resource = { group, version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true }
  const manifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.${group}}
spec:
  group: ${group}
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`
  const instance = (name: string) =>
    `apiVersion: ${group}/v1\nkind: Widget\nmetadata: {name: ${name}}\nspec: {size: 1}\n`
  return { group, resource, manifest, instance, name: `widgets.${group}` }
}
