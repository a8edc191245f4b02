import { describe, expect, it } from 'vitest'
import { deployments, namespaces, nodes, pods } from '../resources.ts'
import { pathOf, resourceLabel, withQuery } from './paths.ts'

describe('paths', () => {
  it('are built as the API server reads them', () => {
    expect(pathOf(nodes)).toBe('/api/v1/nodes')
    expect(pathOf(pods, { name: 'p', namespace: 'shop', subresource: 'eviction' })).toBe(
      '/api/v1/namespaces/shop/pods/p/eviction',
    )
    expect(pathOf(deployments, { namespace: 'shop' })).toBe('/apis/apps/v1/namespaces/shop/deployments')
    expect(pathOf(pods)).toBe('/api/v1/pods')
    expect(pathOf(namespaces, { name: 'shop' })).toBe('/api/v1/namespaces/shop')
    expect(pathOf(nodes, { name: 'system:node?x' })).toBe('/api/v1/nodes/system%3Anode%3Fx')
  })

  it('leave out what is undefined in a query', () => {
    expect(withQuery('/x', { a: 1, b: undefined, c: 'd e' })).toBe('/x?a=1&c=d+e')
    expect(withQuery('/x', {})).toBe('/x')
  })

  const labels: readonly [string, string][] = [
    ['/api/v1/nodes', 'nodes'],
    ['/api/v1/nodes/n1/status', 'nodes/status'],
    ['/api/v1/namespaces', 'namespaces'],
    ['/api/v1/namespaces/shop', 'namespaces'],
    ['/api/v1/namespaces/shop/pods/p/eviction', 'pods/eviction'],
    ['/apis/apps/v1/namespaces/shop/deployments/web', 'deployments'],
    ['/readyz', 'other'],
    ['/apis/apps/v1', 'other'],
  ]
  for (const [path, label] of labels) {
    it(`${path} counts as ${label}`, () => expect(resourceLabel(path)).toBe(label))
  }
})
