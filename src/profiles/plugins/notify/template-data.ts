import type { NodeCondition, NodeInfo, NodeObject } from '../../../kube/index.ts'
import { goTime, Struct, TextMap } from '../../../text/index.ts'
import type { NotifyContext } from '../../plugin.ts'

/** A node with what the caches do not keep of it, and templates hardly ever ask for. */
export interface WholeNode extends NodeObject {
  readonly spec?: NonNullable<NodeObject['spec']> & {
    readonly podCIDR?: string
    readonly podCIDRs?: readonly string[]
  }
  readonly status?: Omit<NonNullable<NodeObject['status']>, 'conditions'> & {
    readonly capacity?: Texts
    readonly phase?: string
    readonly conditions?: readonly (NodeCondition & { readonly lastHeartbeatTime?: string })[]
    readonly nodeInfo?: NodeInfo & {
      readonly kubeProxyVersion?: string
      readonly swap?: { readonly capacity?: number }
    }
    readonly volumesInUse?: readonly string[]
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } }
  }
}

type Texts = Readonly<Record<string, string>>

/**
 * What templates see: the objects of the original with their names in Go. Fields that we do not keep of a node are only
 * there with the whole of it; asking for others is a fault that says which there are.
 */
export function templateData(context: NotifyContext, whole?: WholeNode): Struct {
  const { profile, lastProfile, state, isInMaintenance, isDetailed, node } = context
  return new Struct({
    type: 'the data of a message',
    fields: {
      State: state,
      Profile: new Struct({ type: 'Profile', plain: profile, fields: { Current: profile, Last: lastProfile } }),
      Node: nodeStruct(node, whole),
      InMaintenance: isInMaintenance,
      LastTransition: timeStruct(context.lastTransitionText ?? timeText(context.lastTransitionMs)),
      LogDetails: isDetailed,
    },
  })
}

/** With one of everything, so that what a template asks for can be checked before there is a node. */
export const exampleData = (): Struct => {
  const node = {
    metadata: {
      deletionTimestamp: never,
      finalizers: ['a'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'a', name: 'a', uid: 'a' }],
    },
    spec: { taints: [{ key: 'a', effect: 'a', timeAdded: never }] },
    status: { conditions: [{ type: 'a', status: 'a' }], addresses: [{ type: 'a', address: 'a' }] },
  }
  const about = { profile: 'example', lastProfile: 'example', state: 'operational' } as const
  return templateData({ ...about, isInMaintenance: false, isDetailed: false, lastTransitionMs: 0, node }, node)
}

function nodeStruct({ metadata, spec, status }: NodeObject, whole: WholeNode | undefined): Struct {
  const labels = new TextMap(metadata.labels)
  const annotations = new TextMap(metadata.annotations)
  const meta = {
    Name: metadata.name ?? '',
    GenerateName: metadata.generateName ?? '',
    Namespace: '',
    UID: metadata.uid ?? '',
    ResourceVersion: metadata.resourceVersion ?? '',
    Generation: metadata.generation ?? 0,
    CreationTimestamp: kubeTime(metadata.creationTimestamp),
    // A pointer in Go: nothing, and not a time, when the node stays.
    DeletionTimestamp: metadata.deletionTimestamp === undefined ? null : kubeTime(metadata.deletionTimestamp),
    Labels: labels,
    Annotations: annotations,
    Finalizers: metadata.finalizers ?? [],
    OwnerReferences: (metadata.ownerReferences ?? []).map(
      ({ apiVersion, kind, name, uid }) =>
        new Struct({
          type: 'v1.OwnerReference',
          fields: { APIVersion: apiVersion, Kind: kind, Name: name, UID: uid },
        }),
    ),
  }
  const getters = {
    GetName: { takes: 0, run: () => meta.Name },
    GetLabels: { takes: 0, run: () => labels },
    GetAnnotations: { takes: 0, run: () => annotations },
  }
  return new Struct({
    type: 'v1.Node',
    methods: getters,
    fields: {
      ...meta,
      ...kind,
      TypeMeta: new Struct({ type: 'v1.TypeMeta', fields: kind }),
      ObjectMeta: new Struct({ type: 'v1.ObjectMeta', methods: getters, fields: meta }),
      Spec: specStruct(spec, whole),
      Status: statusStruct(status, whole),
    },
  })
}

const kind = { Kind: 'Node', APIVersion: 'v1' }

function specStruct(
  { providerID = '', unschedulable = false, taints = [] }: NonNullable<NodeObject['spec']> = {},
  whole: WholeNode | undefined,
): Struct {
  const { podCIDR = '', podCIDRs = [] } = whole?.spec ?? {}
  return new Struct({
    type: 'v1.NodeSpec',
    fields: {
      ProviderID: providerID,
      Unschedulable: unschedulable,
      ...(whole ? { PodCIDR: podCIDR, PodCIDRs: podCIDRs } : {}),
      Taints: taints.map(({ key, value = '', effect, timeAdded }) => {
        const added = timeAdded === undefined ? null : kubeTime(timeAdded)
        const parts = { Key: key, Value: value, Effect: effect, TimeAdded: added }
        return new Struct({ type: 'v1.Taint', fields: parts, parts })
      }),
    },
  })
}

function statusStruct(
  { conditions = [], addresses = [], nodeInfo, allocatable }: NonNullable<NodeObject['status']> = {},
  whole: WholeNode | undefined,
): Struct {
  return new Struct({
    type: 'v1.NodeStatus',
    fields: {
      Conditions: conditions.map((condition) => conditionStruct(condition, whole)),
      Addresses: addresses.map(({ type, address }) => {
        const parts = { Type: type, Address: address }
        return new Struct({ type: 'v1.NodeAddress', fields: parts, parts })
      }),
      Allocatable: new Quantities(allocatable),
      ...(whole ? moreOfStatus(whole.status ?? {}) : {}),
      NodeInfo: nodeInfoStruct(nodeInfo, whole),
    },
  })
}

/** All of it only with the whole node: when it was last heard of changes too often to be kept. */
function conditionStruct(
  { type, status, reason = '', message = '', lastTransitionTime }: NodeCondition,
  whole: WholeNode | undefined,
): Struct {
  const same = whole?.status?.conditions?.find((one) => one.type === type)
  const fields = {
    Type: type,
    Status: status,
    ...(whole ? { LastHeartbeatTime: kubeTime(same?.lastHeartbeatTime) } : {}),
    LastTransitionTime: kubeTime(lastTransitionTime),
    Reason: reason,
    Message: message,
  }
  return new Struct({ type: 'v1.NodeCondition', fields, ...(whole ? { parts: fields } : {}) })
}

function nodeInfoStruct(nodeInfo: NodeInfo | undefined, whole: WholeNode | undefined): Struct {
  const { kubeProxyVersion = '', swap } = whole?.status?.nodeInfo ?? {}
  const fields = {
    MachineID: nodeInfo?.machineID ?? '',
    SystemUUID: nodeInfo?.systemUUID ?? '',
    BootID: nodeInfo?.bootID ?? '',
    KernelVersion: nodeInfo?.kernelVersion ?? '',
    OSImage: nodeInfo?.osImage ?? '',
    ContainerRuntimeVersion: nodeInfo?.containerRuntimeVersion ?? '',
    KubeletVersion: nodeInfo?.kubeletVersion ?? '',
    ...(whole ? { KubeProxyVersion: kubeProxyVersion } : {}),
    OperatingSystem: nodeInfo?.operatingSystem ?? '',
    Architecture: nodeInfo?.architecture ?? '',
  }
  const parts = { ...fields, Swap: swapText(swap) }
  return new Struct({ type: 'v1.NodeSystemInfo', fields, ...(whole ? { parts } : {}) })
}

/** It cannot be asked for, but is seen where all is shown. */
function swapText(swap: { readonly capacity?: number } | undefined): string {
  if (!swap) return 'nil'
  return `&NodeSwapStatus{Capacity:${swap.capacity === undefined ? 'nil' : `*${swap.capacity}`},}`
}

function moreOfStatus({
  capacity,
  phase = '',
  volumesInUse = [],
  daemonEndpoints,
}: NonNullable<WholeNode['status']>): object {
  const endpoint = { Port: daemonEndpoints?.kubeletEndpoint?.Port ?? 0 }
  const KubeletEndpoint = new Struct({ type: 'v1.DaemonEndpoint', fields: endpoint })
  return {
    Capacity: new Quantities(capacity),
    Phase: phase,
    VolumesInUse: volumesInUse,
    DaemonEndpoints: new Struct({ type: 'v1.NodeDaemonEndpoints', fields: { KubeletEndpoint } }),
  }
}

/** What Go asks of such a map by a method. */
const quantityNames = new Map([
  ['Cpu', 'cpu'],
  ['Memory', 'memory'],
  ['Pods', 'pods'],
  ['Storage', 'storage'],
  ['StorageEphemeral', 'ephemeral-storage'],
])

/** Amounts as they are written; one that is asked for by its method and is not there is 0, as in Go. */
class Quantities extends TextMap {
  override get(name: string): string | undefined {
    const asked = quantityNames.get(name)
    return asked === undefined ? super.get(name) : (super.get(asked) ?? '0')
  }
}

const never = '0001-01-01T00:00:00Z'

/** A time that is missing is Go's zero time. */
function timeStruct(text: string): Struct | undefined {
  return goTime(text) ?? goTime(never)
}

/** As Kubernetes has them: with a time of Go inside. */
function kubeTime(text = never): Struct | undefined {
  return goTime(text, 'v1.Time') ?? goTime(never, 'v1.Time')
}

/** As exactly as a number can say it: to the microsecond. */
function timeText(ms: number): string {
  const micros = Math.round(ms * 1_000)
  const second = new Date(Math.floor(micros / 1_000_000) * 1_000)
  if (Number.isNaN(second.getTime())) return never
  const rest = micros - second.getTime() * 1_000
  return second.toISOString().replace('.000Z', `.${String(rest).padStart(6, '0')}Z`)
}
