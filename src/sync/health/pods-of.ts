import { controllerUid, type PodObject } from '../../kube/index.ts'
import type { JsonObject } from '../json.ts'
import { textAt } from './fields.ts'
import { type PodProblem, podJson, podProblem } from './pod.ts'
import type { Surroundings } from './verdict.ts'

/** Under which names a pod is looked for: its controller, the Deployment behind a ReplicaSet, the claims it mounts. */
export function podTies(pod: PodObject): readonly string[] {
  const { namespace = '', labels, ownerReferences } = pod.metadata
  const uid = controllerUid(pod.metadata)
  const owner = ownerReferences?.find((one) => one.controller === true)
  const suffix = `-${labels?.['pod-template-hash'] ?? ''}`
  const claims = pod.spec?.volumes?.flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []) ?? []
  return [
    ...(uid === undefined ? [] : [uid]),
    // The ReplicaSet is called after the Deployment and the hash that its pods bear: no need to read ReplicaSets.
    ...(owner?.kind === 'ReplicaSet' && suffix !== '-' && owner.name.endsWith(suffix)
      ? [deploymentTie(namespace, owner.name.slice(0, -suffix.length))]
      : []),
    ...claims.map((claim) => claimTie(namespace, claim)),
  ]
}

/** The name under which the pods of an object are found. */
export function tieOf(object: JsonObject): string {
  const [namespace, name] = [textAt(object, 'metadata', 'namespace') ?? '', textAt(object, 'metadata', 'name') ?? '']
  switch (textAt(object, 'kind') ?? '') {
    case 'Deployment':
      return deploymentTie(namespace, name)
    case 'PersistentVolumeClaim':
      return claimTie(namespace, name)
    default:
      return textAt(object, 'metadata', 'uid') ?? ''
  }
}

export function podsOf(object: JsonObject, pods: readonly PodObject[]): readonly PodObject[] {
  const tie = tieOf(object)
  return pods.filter((pod) => podTies(pod).includes(tie))
}

/** The most telling problem among pods: failures first, then what is newest. */
export function worstProblem(pods: readonly PodObject[], around: Omit<Surroundings, 'pods'>): PodProblem | undefined {
  const newestFirst = [...pods].sort((one, other) => createdAt(other).localeCompare(createdAt(one)))
  const problems = newestFirst.flatMap((pod) => podProblem(podJson(pod), around) ?? [])
  return problems.find((one) => one.isFailure) ?? problems[0]
}

const createdAt = (pod: PodObject): string => pod.metadata.creationTimestamp ?? ''
const deploymentTie = (namespace: string, name: string): string => `Deployment ${namespace}/${name}`
const claimTie = (namespace: string, name: string): string => `claim ${namespace}/${name}`
