import type { KubeObject, ObjectMeta } from './resource.ts'

/** Only the fields that Fettle reads. Whoever needs another one adds it here and to `trim.ts`. */

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
  readonly timeAdded?: string
}

export interface NodeCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

export interface NodeInfo {
  readonly bootID: string
  readonly machineID: string
  readonly systemUUID: string
  readonly kernelVersion: string
  readonly osImage: string
  readonly operatingSystem: string
  readonly architecture: string
  readonly kubeletVersion: string
  readonly containerRuntimeVersion: string
}

export interface NodeObject extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean
    readonly taints?: readonly Taint[]
    readonly providerID?: string
  }
  readonly status?: {
    readonly conditions?: readonly NodeCondition[]
    readonly addresses?: readonly { readonly type: string; readonly address: string }[]
    readonly nodeInfo?: NodeInfo
    readonly allocatable?: Readonly<Record<string, string>>
  }
}

export interface PodVolume {
  readonly name: string
  /** Data that dies with the pod. */
  readonly emptyDir?: { readonly medium?: string }
  readonly hostPath?: { readonly path: string }
  readonly persistentVolumeClaim?: { readonly claimName: string }
}

export interface PodCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly lastTransitionTime?: string
}

export interface PodObject extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string
    readonly hostNetwork?: boolean
    readonly priority?: number
    readonly priorityClassName?: string
    readonly terminationGracePeriodSeconds?: number
    readonly volumes?: readonly PodVolume[]
    /** In a cache only of a controller, see `trim.ts`. */
    readonly nodeSelector?: Readonly<Record<string, string>>
    /** In a cache only of a controller. */
    readonly tolerations?: readonly {
      readonly key?: string
      readonly operator?: string
      readonly value?: string
      readonly effect?: string
      readonly tolerationSeconds?: number
    }[]
    /** In a cache only what it prefers, and what a controller requires. */
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms: readonly {
            readonly matchExpressions?: LabelSelector['matchExpressions']
            readonly matchFields?: LabelSelector['matchExpressions']
          }[]
        }
        readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
          readonly preference?: { readonly matchExpressions?: LabelSelector['matchExpressions'] }
        }[]
      }
    }
  }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly startTime?: string
    /** Not in a cache. */
    readonly podIP?: string
    /** In a cache only Ready, PodScheduled and DisruptionTarget. */
    readonly conditions?: readonly PodCondition[]
  }
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[]
    | undefined
}

export interface PodDisruptionBudget extends KubeObject {
  readonly spec?: {
    readonly selector?: LabelSelector
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
    readonly unhealthyPodEvictionPolicy?: string
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly disruptionsAllowed: number
    readonly currentHealthy: number
    readonly desiredHealthy: number
    readonly expectedPods: number
    readonly disruptedPods?: Readonly<Record<string, string>>
  }
}

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/** The uid of the controller that owns an object, if one does. */
export function controllerUid(metadata: ObjectMeta): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid
}
