/**
 * Names and addresses of the machines that are a cluster's real nodes. All of them follow from the cluster's name
 * and two small numbers, so that what a crash left behind is found without any record.
 */

/** Which machine of which cluster. */
export interface MachineRef {
  /** Name of the cluster. */
  readonly cluster: string
  /** The k of the cluster's node network 10.89.k.0/24; 0 to 250. */
  readonly clusterIndex: number
  /** Number of the machine in its cluster; 1 to 16. */
  readonly number: number
  /** Name of the machine, of its Node object and of its host. */
  readonly name: string
}

export const maximumMachines = 16

/** Same in every cluster: services are known only inside each machine's own network namespace. */
export const serviceCidr = '10.96.0.0/16'
/** Where a cluster DNS is expected if someone installs one; the usual tenth address of the service range. */
export const clusterDnsAddress = '10.96.0.10'

/** The host's own address in the node network; the API server is reached there. */
export function hostAddress(clusterIndex: number): string {
  return `10.89.${clusterIndex}.1`
}

export function machineAddress(clusterIndex: number, number: number): string {
  return `10.89.${clusterIndex}.${10 + number}`
}

export function podCidr(clusterIndex: number, number: number): string {
  return `10.${100 + number}.${clusterIndex}.0/24`
}

/** The one interface that a cluster has on the host: its cable into the switch. */
export function hostInterface(clusterIndex: number): string {
  return `ftl${clusterIndex}`
}

export function switchNamespace(cluster: string): string {
  return `fettle-${cluster}-switch`
}

export function machineNamespace(cluster: string, number: number): string {
  return `fettle-${cluster}-${number}`
}

/** The machine's plug in the switch. */
export function switchPort(number: number): string {
  return `node${number}`
}

/** True for the network namespaces of this cluster, and not for those of one whose name begins the same. */
export function isNamespaceOf(cluster: string, namespace: string): boolean {
  const prefix = `fettle-${cluster}-`
  return namespace.startsWith(prefix) && /^(?:switch|\d+)$/.test(namespace.slice(prefix.length))
}

/** Holds the cgroups of all clusters; below the root of each hierarchy. */
export const commonCgroup = 'fettle'

export function clusterCgroup(cluster: string): string {
  return `${commonCgroup}/${cluster}`
}

export function machineCgroup(machine: Pick<MachineRef, 'cluster' | 'name'>): string {
  return `${clusterCgroup(machine.cluster)}/${machine.name}`
}
