import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { run } from '../../host/index.ts'

const packagesOf: Readonly<Record<string, string>> = {
  'systemd-nspawn': 'systemd-container',
  debootstrap: 'debootstrap',
  ip: 'iproute2',
  nsenter: 'util-linux',
  unshare: 'util-linux',
}

/** Tries a kernel feature in namespaces that end with the command: nothing of the host changes. */
const kernelTrials: Readonly<Record<string, string>> = {
  'network namespaces with virtual cables and bridges (CONFIG_VETH, CONFIG_BRIDGE)':
    'ip link add switch type bridge && ip link add one type veth peer name two && ip link set one master switch',
  'overlay file systems (CONFIG_OVERLAY_FS)':
    'mount -t tmpfs trial /tmp && cd /tmp && mkdir lower upper work merged && ' +
    'mount -t overlay trial -o lowerdir=lower,upperdir=upper,workdir=work merged',
}

/** One sentence for each thing that real nodes need and this machine lacks. Empty: they can run. */
export async function missingForRealNodes(): Promise<string[]> {
  if (process.platform !== 'linux')
    return [`Real nodes need Linux, this is ${process.platform}; simulated nodes need no more than the control plane.`]
  if (process.getuid?.() !== 0)
    return ['Real nodes boot machines and need root: run the same line with sudo. Simulated nodes work without.']
  const missing: string[] = []
  const absent = Object.keys(packagesOf).filter((program) => !isOnPath(program))
  if (absent.length > 0) {
    const packages = [...new Set(absent.map((program) => packagesOf[program]))].join(' ')
    missing.push(`Real nodes need ${absent.join(', ')}: apt-get install -y ${packages}. Simulated nodes work without.`)
  }
  if (absent.includes('ip') || absent.includes('unshare')) return missing
  for (const [feature, trial] of Object.entries(kernelTrials)) {
    const { code } = await run(['unshare', '--net', '--mount', '--propagation', 'private', 'sh', '-c', trial])
    if (code !== 0)
      missing.push(`Real nodes need ${feature} in the kernel, and this one refuses them. Simulated nodes work without.`)
  }
  if (!(await hasCgroups()))
    missing.push('Real nodes need cgroups mounted under /sys/fs/cgroup. Simulated nodes work without.')
  return missing
}

function isOnPath(program: string): boolean {
  // Administrators' folders are not on every user's path, sudo or not.
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin'].filter(Boolean)
  return folders.some((folder) => existsSync(`${folder}/${program}`))
}

async function hasCgroups(): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  return mounts.split('\n').some((line) => / \/sys\/fs\/cgroup\S* cgroup2? rw/.test(line))
}
