import type { NodeObject } from '../../../kube/index.ts'
import { goTime, Struct, TextMap } from '../../../text/index.ts'
import type { NotifyContext } from '../../plugin.ts'

/**
 * What templates see: the objects of the original with their names in Go. Fields that we do not keep of a node are not
 * there, and asking for them is a fault that says which there are.
 */
export function templateData(context: NotifyContext): Struct {
  const { profile, lastProfile, state, isInMaintenance, isDetailed, node } = context
  return new Struct({
    type: 'the data of a message',
    fields: {
      State: state,
      Profile: new Struct({ type: 'Profile', plain: profile, fields: { Current: profile, Last: lastProfile } }),
      Node: nodeStruct(node),
      InMaintenance: isInMaintenance,
      LastTransition: timeStruct(context.lastTransitionText ?? timeText(context.lastTransitionMs)),
      LogDetails: isDetailed,
    },
  })
}

/** With one of everything, so that what a template asks for can be checked before there is a node. */
export const exampleData = (): Struct =>
  templateData({
    profile: 'example',
    lastProfile: 'example',
    state: 'operational',
    isInMaintenance: false,
    isDetailed: false,
    lastTransitionMs: 0,
    node: {
      metadata: { finalizers: ['a'], ownerReferences: [{ apiVersion: 'v1', kind: 'a', name: 'a', uid: 'a' }] },
      spec: { taints: [{ key: 'a', effect: 'a' }] },
      status: { conditions: [{ type: 'a', status: 'a' }], addresses: [{ type: 'a', address: 'a' }] },
    },
  })

function nodeStruct({ metadata, spec = {}, status = {} }: NodeObject): Struct {
  const labels = new TextMap(metadata.labels)
  const annotations = new TextMap(metadata.annotations)
  const meta = {
    Name: metadata.name ?? '',
    GenerateName: metadata.generateName ?? '',
    Namespace: '',
    UID: metadata.uid ?? '',
    ResourceVersion: metadata.resourceVersion ?? '',
    Generation: metadata.generation ?? 0,
    CreationTimestamp: timeStruct(metadata.creationTimestamp),
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
      ObjectMeta: new Struct({ type: 'v1.ObjectMeta', methods: getters, fields: meta }),
      Spec: specStruct(spec),
      Status: statusStruct(status),
    },
  })
}

function specStruct({ providerID = '', unschedulable = false, taints = [] }: NonNullable<NodeObject['spec']>): Struct {
  return new Struct({
    type: 'v1.NodeSpec',
    fields: {
      ProviderID: providerID,
      Unschedulable: unschedulable,
      Taints: taints.map(
        ({ key, value = '', effect }) =>
          new Struct({ type: 'v1.Taint', fields: { Key: key, Value: value, Effect: effect } }),
      ),
    },
  })
}

function statusStruct({ conditions = [], addresses = [], nodeInfo }: NonNullable<NodeObject['status']>): Struct {
  return new Struct({
    type: 'v1.NodeStatus',
    fields: {
      Conditions: conditions.map(
        ({ type, status, reason = '', message = '', lastTransitionTime }) =>
          new Struct({
            type: 'v1.NodeCondition',
            fields: {
              Type: type,
              Status: status,
              Reason: reason,
              Message: message,
              LastTransitionTime: timeStruct(lastTransitionTime),
            },
          }),
      ),
      Addresses: addresses.map(
        ({ type, address }) => new Struct({ type: 'v1.NodeAddress', fields: { Type: type, Address: address } }),
      ),
      NodeInfo: new Struct({
        type: 'v1.NodeSystemInfo',
        fields: {
          MachineID: nodeInfo?.machineID ?? '',
          SystemUUID: nodeInfo?.systemUUID ?? '',
          BootID: nodeInfo?.bootID ?? '',
          KernelVersion: nodeInfo?.kernelVersion ?? '',
          OSImage: nodeInfo?.osImage ?? '',
          ContainerRuntimeVersion: nodeInfo?.containerRuntimeVersion ?? '',
          KubeletVersion: nodeInfo?.kubeletVersion ?? '',
          OperatingSystem: nodeInfo?.operatingSystem ?? '',
          Architecture: nodeInfo?.architecture ?? '',
        },
      }),
    },
  })
}

const never = '0001-01-01T00:00:00Z'

/** A time that is missing is Go's zero time. */
function timeStruct(text = never): Struct | undefined {
  return goTime(text) ?? goTime(never)
}

/** As exactly as a number can say it: to the microsecond. */
function timeText(ms: number): string {
  const micros = Math.round(ms * 1_000)
  const second = new Date(Math.floor(micros / 1_000_000) * 1_000)
  if (Number.isNaN(second.getTime())) return never
  const rest = micros - second.getTime() * 1_000
  return second.toISOString().replace('.000Z', `.${String(rest).padStart(6, '0')}Z`)
}
