import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm, statfs, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runOk } from '../../host/index.ts'
import { cgroupVersion } from './cgroup-tree.ts'
import { type Certificate, imageFolder, type MachineFile, machineFiles } from './config.ts'
import { hostAddress, type MachineRef, machineAddress } from './names.ts'
import type { MachinePrograms, PreparedMachines } from './prepare.ts'
import { type MachineLink, unitFiles, unitLinks } from './units.ts'

/** A machine, and where its files lie. */
export interface Machine extends MachineRef {
  readonly folder: string
}

export interface StartOptions {
  readonly apiServerPort: number
  readonly caPem: string
  readonly issueCertificate: (order: {
    readonly commonName: string
    readonly organizations: readonly string[]
    readonly ips: readonly string[]
    readonly dnsNames: readonly string[]
  }) => Promise<Certificate>
  readonly programs: MachinePrograms
  readonly prepared: PreparedMachines
  readonly nodeLabels?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export function machineRoot(machine: Machine): string {
  return join(machine.folder, 'root')
}

/** Makes the machine's root file system, or brings the files of an existing one up to date. */
export async function makeMachineRoot(machine: Machine, options: StartOptions): Promise<void> {
  const root = machineRoot(machine)
  if (!existsSync(root)) {
    await rm(`${root}.part`, { recursive: true, force: true })
    await runOk(['cp', '-a', '--reflink=auto', options.prepared.rootFilesystem, `${root}.part`], {
      deadlineMs: 300_000,
    })
    // Made once: it must stay the same over reboots, and differ between machines.
    await writeFile(`${root}.part/etc/machine-id`, `${randomBytes(16).toString('hex')}\n`)
    await rename(`${root}.part`, root)
  }
  const address = machineAddress(machine.clusterIndex, machine.number)
  const settings = {
    machine,
    apiServerUrl: `https://${hostAddress(machine.clusterIndex)}:${options.apiServerPort}`,
    caPem: options.caPem,
    kubelet: await options.issueCertificate({
      commonName: `system:node:${machine.name}`,
      organizations: ['system:nodes'],
      ips: [address],
      dnsNames: [machine.name],
    }),
    kubeProxy: await options.issueCertificate({
      commonName: 'system:kube-proxy',
      organizations: [],
      ips: [],
      dnsNames: [],
    }),
    nodeLabels: { 'fettle.dev/real': 'true', ...options.nodeLabels },
    cgroupVersion: cgroupVersion(),
    snapshotter: (await isOverlay(machine.folder)) ? ('native' as const) : ('overlayfs' as const),
  }
  for (const file of [...machineFiles(settings), ...unitFiles()]) await writeMachineFile(root, file)
  for (const link of unitLinks()) await writeMachineLink(root, link)
  await mkdir(join(root, imageFolder), { recursive: true })
  await cp(options.prepared.pauseArchive, join(root, imageFolder, 'pause.tar'))
}

async function writeMachineFile(root: string, { path, text, mode }: MachineFile): Promise<void> {
  const target = join(root, path)
  await mkdir(dirname(target), { recursive: true })
  // A link there may lead out of the machine, to a file of the host.
  await rm(target, { force: true })
  await writeFile(target, text)
  await chmod(target, mode ?? 0o644)
}

async function writeMachineLink(root: string, { path, target }: MachineLink): Promise<void> {
  const place = join(root, path)
  await mkdir(dirname(place), { recursive: true })
  await rm(place, { force: true })
  await symlink(target, place)
}

async function isOverlay(folder: string): Promise<boolean> {
  return (await statfs(folder)).type === 0x794c7630
}
