import { describe, expect, it } from 'vitest'
import type { NodeObject, PodObject } from '../kinds.ts'
import { configMaps, nodes, pods } from '../resources.ts'
import { Interner } from './intern.ts'
import { trimFor } from './trim.ts'

const metadata = {
  name: 'x',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '1',
  labels: { app: 'web' },
  annotations: { keep: 'me', 'kubectl.kubernetes.io/last-applied-configuration': '{"a":"very long"}' },
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'ru', controller: true }],
}
const untrimmed = { ...metadata, managedFields: [{ manager: 'kubelet' }], selfLink: '/x' }
const trimmed = { ...metadata, annotations: { keep: 'me' } }

describe('trimming', () => {
  it('a pod keeps what its interface declares', () => {
    const preferred = { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: untrimmed,
      spec: {
        nodeName: 'n1',
        priority: 0,
        containers: [{ name: 'c', env: [] }],
        affinity: { podAffinity: {}, nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferred] } },
        volumes: [
          { name: 'scratch', emptyDir: {} },
          { name: 'token', projected: {} },
        ],
      },
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 't', lastProbeTime: null }],
      },
    } as unknown as PodObject
    expect(trimFor(pods)(pod)).toEqual({
      metadata: trimmed,
      spec: {
        nodeName: 'n1',
        priority: 0,
        volumes: [{ name: 'scratch', emptyDir: {} }],
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferred] } },
      },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 't' }] },
    })
  })

  it('only of a controller is kept where it may run', () => {
    const required = {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    }
    const spec = {
      nodeSelector: { role: 'infra' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
    }
    const trimmedSpec = (component: string) =>
      trimFor(pods)({ metadata: { labels: { 'app.kubernetes.io/component': component } }, spec } as PodObject)
    expect(trimmedSpec('controller')).toMatchObject({ spec })
    expect(trimmedSpec('agent')).toHaveProperty('spec', {})
  })

  it('a node keeps what its interface declares', () => {
    const node = {
      metadata: untrimmed,
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }], podCIDR: '10.0.0.0/24' },
      status: {
        allocatable: { cpu: '4' },
        images: [{ names: ['big'] }],
        conditions: [{ type: 'Ready', status: 'True', message: 'm', lastHeartbeatTime: 'h' }],
      },
    } as unknown as NodeObject
    expect(trimFor(nodes)(node)).toEqual({
      metadata: trimmed,
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True', message: 'm' }] },
    })
  })

  it('anything else loses only its managed fields', () => {
    const object = { metadata: untrimmed, data: { a: 'b' } }
    const { managedFields: _, ...rest } = untrimmed
    expect(trimFor(configMaps)(object)).toEqual({ metadata: rest, data: { a: 'b' } })
  })

  it('shares equal strings without remembering for ever', () => {
    const strings = new Interner(2)
    for (const text of ['a', 'b', 'c', 'a']) expect(strings.share(text)).toBe(text)
  })
})
