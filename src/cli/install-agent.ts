/** How the agent reaches its machine from a pod: which folders of it, and with which rights. */

/** A bundle of its own: every node pays for what is in it. */
export const agentCommand: readonly string[] = ['/usr/local/bin/node', '/usr/lib/fettle/fettle-agent.js']

export interface AgentPod {
  readonly hostPID: boolean
  readonly args: readonly string[]
  readonly securityContext: object
  readonly volumeMounts: readonly object[]
  readonly volumes: readonly object[]
}

interface HostFolder {
  readonly name: string
  readonly path: string
  readonly readOnly: boolean
}

/** Folders, not files: a mounted file is the one that was there then, whoever replaces it later. */
const folders: readonly HostFolder[] = [
  { name: 'var', path: '/var', readOnly: false },
  { name: 'run', path: '/run', readOnly: true },
  // Where the host shows its boot ID; in a container that file may be another one.
  { name: 'random', path: '/proc/sys/kernel/random', readOnly: true },
]
const bootFolder: HostFolder = { name: 'boot', path: '/boot', readOnly: true }

/** Only what the arguments need: who signals needs less than who runs commands of the host. */
export function agentPod(more: readonly string[]): AgentPod {
  const has = (start: string) => more.some((argument) => argument === start || argument.startsWith(`${start}=`))
  const method =
    more
      .filter((argument) => argument.startsWith('--reboot-method='))
      .at(-1)
      ?.split('=')[1] ?? 'command'
  const runsCommands = method === 'command' || has('--reboot-check')
  const mounted = has('--reboot-kernel') ? [...folders, bootFolder] : folders
  return {
    hostPID: runsCommands || method === 'signal',
    args: [...mounted.map(({ name, path }) => `--mount=${path}=/host/${name}`), ...more],
    securityContext: runsCommands
      ? { privileged: true, readOnlyRootFilesystem: true }
      : {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], ...(method === 'signal' ? { add: ['KILL'] } : {}) },
        },
    volumeMounts: mounted.map(({ name, readOnly }) => ({
      name,
      mountPath: `/host/${name}`,
      // Else a volume that the kubelet unmounts stays mounted in here, and its device stays busy.
      mountPropagation: 'HostToContainer',
      ...(readOnly ? { readOnly } : {}),
    })),
    volumes: mounted.map(({ name, path }) => ({ name, hostPath: { path, type: 'Directory' } })),
  }
}
