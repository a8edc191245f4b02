import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { run, runOk } from '../../host/index.ts'
import { DevFault } from '../errors.ts'
import {
  hostAddress,
  hostInterface,
  isNamespaceOf,
  type MachineRef,
  machineAddress,
  machineNamespace,
  maximumMachines,
  podCidr,
  serviceCidr,
  switchNamespace,
  switchPort,
} from './names.ts'

/**
 * The network of a cluster's machines. Each machine has a network namespace; their cables end in a switch, which is
 * a bridge in a namespace of its own, because on the host a firewall (Docker's, ufw's) would filter what crosses it.
 * The host has one cable into the switch. No setting of the host changes.
 */

const namespaceFolder = '/run/netns'
const bridge = 'switch'

export function namespacePath(machine: MachineRef): string {
  return `${namespaceFolder}/${machineNamespace(machine.cluster, machine.number)}`
}

/**
 * Makes the switch and the host's cable into it. Does nothing if they exist. Machines may be started side by side
 * after it, not before.
 */
export async function createClusterNetwork(cluster: string, clusterIndex: number): Promise<void> {
  const cable = hostInterface(clusterIndex)
  const inside = switchNamespace(cluster)
  const cables = await cablesOf(cluster)
  if (cables.includes(cable)) return
  // Never cut off machines that live: a cluster of the same name, kept in another home folder, may have them.
  if (cables.length > 0)
    throw new DevFault(
      `another cluster named ${cluster} has real nodes on this machine, on network interface ${cables.join(', ')}; choose another name`,
    )
  const taken = await takenBy(clusterIndex)
  if (taken)
    throw new DevFault(
      `real nodes of cluster ${cluster} need the network 10.89.${clusterIndex}.0/24, which ${taken} uses`,
    )
  // Without the host's cable the rest is what an interrupted call left.
  await deleteNamespace(inside)
  await runOk(['ip', 'netns', 'add', inside])
  await ipBatch(inside, [`link add ${bridge} type bridge`, `link set ${bridge} up`])
  // No IPv6 address: nothing here speaks it, and the host would announce itself.
  await ipBatch(undefined, [
    `link add ${cable} type veth peer name host netns ${inside}`,
    `link set ${cable} addrgenmode none`,
  ])
  await ipBatch(inside, [`link set host master ${bridge} up`])
  await ipBatch(undefined, [
    `link set ${cable} up`,
    `address add ${hostAddress(clusterIndex)}/24 dev ${cable}`,
    // Last: it marks the whole as complete.
    `link set ${cable} alias ${inside}`,
  ])
}

/** Makes a machine's namespace and plugs it in, anew if there was one. */
export async function createMachineNetwork(machine: MachineRef): Promise<void> {
  const { cluster, clusterIndex, number } = machine
  const [inside, ownSwitch, port] = [machineNamespace(cluster, number), switchNamespace(cluster), switchPort(number)]
  await deleteMachineNetwork(machine)
  await runOk(['ip', 'netns', 'add', inside])
  await ipBatch(ownSwitch, [
    `link add ${port} type veth peer name eth0 netns ${inside}`,
    `link set ${port} master ${bridge} up`,
  ])
  const others = Array.from({ length: maximumMachines }, (_, index) => index + 1).filter((other) => other !== number)
  await ipBatch(inside, [
    'link set lo up',
    'link set eth0 up',
    `address add ${machineAddress(clusterIndex, number)}/24 dev eth0`,
    // Service addresses lead nowhere; the kernel only wants a route before kube-proxy's rules replace the address.
    `route add ${serviceCidr} via ${hostAddress(clusterIndex)}`,
    ...others.map((other) => `route add ${podCidr(clusterIndex, other)} via ${machineAddress(clusterIndex, other)}`),
  ])
  // The API server answers pods, and calls webhooks in them.
  await ipBatch(undefined, [
    `route replace ${podCidr(clusterIndex, number)} via ${machineAddress(clusterIndex, number)} dev ${hostInterface(clusterIndex)}`,
  ])
}

export async function deleteMachineNetwork(machine: MachineRef): Promise<void> {
  const { cluster, clusterIndex, number } = machine
  // The namespace itself may live a moment longer than its name; its cable is pulled now.
  await run(['ip', '-n', switchNamespace(cluster), 'link', 'delete', switchPort(number)])
  await deleteNamespace(machineNamespace(cluster, number))
  if (existsSync(`/sys/class/net/${hostInterface(clusterIndex)}`))
    await run(['ip', 'route', 'delete', podCidr(clusterIndex, number), 'dev', hostInterface(clusterIndex)])
}

/** Cuts the machine off: its link stays up, and every packet is lost. Holds until healed, over reboots too. */
export async function partitionMachine(machine: MachineRef): Promise<void> {
  await ipBatch(switchNamespace(machine.cluster), [`link set ${switchPort(machine.number)} nomaster`])
}

export async function healMachine(machine: MachineRef): Promise<void> {
  await ipBatch(switchNamespace(machine.cluster), [`link set ${switchPort(machine.number)} master ${bridge}`])
}

/** Removes all namespaces of the cluster, and with them every cable that ends in one. */
export async function deleteClusterNetwork(cluster: string): Promise<void> {
  const cables = await cablesOf(cluster)
  const namespaces = existsSync(namespaceFolder) ? readdirSync(namespaceFolder) : []
  const ours = namespaces.filter((name) => isNamespaceOf(cluster, name))
  for (const name of ours) await deleteNamespace(name)
  // The kernel takes the host's end away a moment after the namespace of the other end is gone.
  for (
    let waitedMs = 0;
    waitedMs < 5_000 && cables.some((name) => existsSync(`/sys/class/net/${name}`));
    waitedMs += 20
  )
    await sleep(20)
  for (const name of cables) await run(['ip', 'link', 'delete', name])
  if (ours.length > 0) await releaseNamespaceFolder()
}

/** `ip netns` mounts its folder onto itself and never lets go. An empty one serves nobody; one in use refuses. */
async function releaseNamespaceFolder(): Promise<void> {
  if (existsSync(namespaceFolder) && readdirSync(namespaceFolder).length === 0) await run(['umount', namespaceFolder])
}

/** The network interface that already leads to the cluster's addresses. Podman gives out networks of 10.89 too. */
export async function takenBy(clusterIndex: number): Promise<string | undefined> {
  const shown = await runOk(['ip', '-json', 'route', 'show', 'root', `10.89.${clusterIndex}.0/24`])
  const routes = JSON.parse(shown.stdout || '[]') as readonly { readonly dev?: string }[]
  return routes.length > 0 ? (routes[0]?.dev ?? 'another route') : undefined
}

async function cablesOf(cluster: string): Promise<string[]> {
  // Without the program that makes cables there are none: down must work on machines that never had it.
  const shown = await run(['ip', '-json', '-details', 'link', 'show']).catch(() => undefined)
  if (shown?.code !== 0) return []
  const links = JSON.parse(shown.stdout || '[]') as readonly { readonly ifname?: string; readonly ifalias?: string }[]
  return links.flatMap(({ ifname, ifalias }) => (ifname && ifalias === switchNamespace(cluster) ? [ifname] : []))
}

async function deleteNamespace(name: string): Promise<void> {
  if (existsSync(`${namespaceFolder}/${name}`)) await runOk(['ip', 'netns', 'delete', name])
}

async function ipBatch(namespace: string | undefined, lines: readonly string[]): Promise<void> {
  const where = namespace ? ['-n', namespace] : []
  await runOk(['ip', ...where, '-batch', '-'], { input: `${lines.join('\n')}\n` })
}
