import { CoreV1Api, KubeConfig, makeInformer, type V1Node, type V1Pod } from '@kubernetes/client-node'
import { startMeter } from './watch-meter.ts'

/** The official client's informers, fed by its own paged lists, with the index that every controller needs. */
const meter = startMeter()
const config = new KubeConfig()
config.loadFromDefault()
const api = config.makeApiClient(CoreV1Api)

const podsByNode = new Map<string, Map<string, V1Pod>>()
let seen = 0
let isSynced = false

function place(pod: V1Pod): void {
  const node = pod.spec?.nodeName ?? ''
  const here = podsByNode.get(node) ?? new Map<string, V1Pod>()
  here.set(`${pod.metadata?.namespace}/${pod.metadata?.name}`, pod)
  podsByNode.set(node, here)
}

const nodes = makeInformer<V1Node>(config, '/api/v1/nodes', () => api.listNode())
const pods = makeInformer<V1Pod>(config, '/api/v1/pods', () => api.listPodForAllNamespaces())
pods.on('add', place)
pods.on('update', (pod) => {
  place(pod)
  if (isSynced && ++seen === meter.changes) meter.finished()
})
for (const informer of [nodes, pods]) informer.on('error', (error) => console.error(error))
await Promise.all([nodes.start(), pods.start()])
isSynced = true
meter.synced()
