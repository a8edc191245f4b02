/** The small program that keeps one machine running, as a shell script. No I/O. */

export interface KeeperSettings {
  readonly name: string
  /** Mount points of the cgroup hierarchies: one on version 2, several on version 1. */
  readonly hierarchies: readonly string[]
  /** The machine's cgroup below each of them; `keeper` and `bootCgroup` exist in it. */
  readonly cgroup: string
  /** Empty folder on the host over which the machine's own view of the cgroups is put together. */
  readonly stage: string
  readonly cgroupVersion: 1 | 2
  /** Path of the machine's network namespace. */
  readonly networkNamespace: string
  readonly root: string
  /** Programs of the host that appear, read-only, inside the machine. */
  readonly programs: readonly { readonly from: string; readonly to: string }[]
}

/** What systemd-nspawn ends with when the machine inside asked for a reboot. */
export const rebootExitCode = 133

/**
 * Where systemd-nspawn starts, below the machine's cgroup. On version 2 it wants one that never had children, so
 * each boot gets a new one.
 */
export function bootCgroup(version: 1 | 2): string {
  return version === 2 ? 'machine/boot' : 'machine'
}

export function nspawnArguments(settings: KeeperSettings): string[] {
  return [
    // No message bus or service manager of the host is needed, and none learns of the machine.
    '--register=no',
    '--keep-unit',
    '--quiet',
    '--console=read-only',
    // The console goes to a log file.
    '--setenv=TERM=dumb',
    '--capability=all',
    '--link-journal=no',
    '--resolv-conf=off',
    '--timezone=off',
    `--network-namespace-path=${settings.networkNamespace}`,
    '--bind=/dev/kmsg',
    // On version 1 systemd-nspawn would mount only the hierarchies that systemd itself uses.
    ...(settings.cgroupVersion === 1 ? ['--bind=/sys/fs/cgroup'] : []),
    ...settings.programs.map(({ from, to }) => `--bind-ro=${escapeColons(from)}:${to}`),
    `--machine=${settings.name}`,
    `--directory=${settings.root}`,
    '--boot',
  ]
}

function escapeColons(path: string): string {
  return path.replaceAll('\\', '\\\\').replaceAll(':', '\\:')
}

/**
 * The script calls itself for each step. The machine gets its own cgroup as the root of all it sees: whatever is
 * created inside (system services, pods) lies below that one path, is found there, and goes with it.
 */
export function keeperScript(settings: KeeperSettings): string {
  const hierarchies = settings.hierarchies.map(shellQuote).join(' ')
  const cgroup = shellQuote(settings.cgroup)
  return [
    '#!/bin/sh',
    `# Keeps machine ${settings.name} running: boots it, boots it again when it reboots, ends when it powers off.`,
    'set -eu',
    'enter() {',
    `  for hierarchy in ${hierarchies}; do`,
    `    mkdir -p "$hierarchy"/${cgroup}/"$1"`,
    `    echo $$ >"$hierarchy"/${cgroup}/"$1"/cgroup.procs`,
    '  done',
    '}',
    'case $# in 0) set keep ;; esac',
    'case $1 in',
    'keep)',
    '  enter keeper',
    '  while :; do',
    '    code=0',
    '    sh "$0" boot </dev/null || code=$?',
    `    [ "$code" -eq ${rebootExitCode} ] || exit "$code"`,
    '    # After a reboot nothing is left of the pods before it, not even their empty cgroups.',
    `    for hierarchy in ${hierarchies}; do`,
    `      find "$hierarchy"/${cgroup}/machine -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true`,
    '    done',
    '  done',
    '  ;;',
    ...(settings.cgroupVersion === 1 ? stepsOnVersion1(settings) : stepsOnVersion2()),
    'machine)',
    '  # Files that systemd-nspawn keeps about its machines; they would stay behind on the host.',
    '  mkdir -p /run/systemd/nspawn',
    '  mount -t tmpfs -o mode=755 nspawn /run/systemd/nspawn',
    `  exec env ${nspawnVariables(settings).join(' ')} systemd-nspawn ${nspawnArguments(settings).map(shellQuote).join(' ')}`,
    '  ;;',
    'esac',
    '',
  ].join('\n')
}

/** Here systemd-nspawn shows the machine the host's hierarchies, so they are covered by the machine's own first. */
function stepsOnVersion1(settings: KeeperSettings): string[] {
  const stage = shellQuote(settings.stage)
  return [
    'boot)',
    `  enter ${bootCgroup(1)}`,
    '  exec unshare --mount --cgroup --propagation private sh "$0" own-view',
    '  ;;',
    'own-view)',
    `  mount -t tmpfs -o mode=755 cgroup ${stage}`,
    '  for entry in /sys/fs/cgroup/*; do',
    `    if [ -L "$entry" ]; then cp -P "$entry" ${stage}; continue; fi`,
    '    name=$(basename "$entry")',
    `    mkdir ${stage}/"$name"`,
    `    mount --bind "$entry"/${shellQuote(settings.cgroup)}/machine ${stage}/"$name"`,
    '  done',
    `  mount --rbind ${stage} /sys/fs/cgroup`,
    '  exec sh "$0" machine',
    '  ;;',
  ]
}

/** Here systemd-nspawn makes the machine's cgroup namespace itself, and fails when it already runs in one. */
function stepsOnVersion2(): string[] {
  return ['boot)', `  enter ${bootCgroup(2)}`, '  exec unshare --mount --propagation private sh "$0" machine', '  ;;']
}

function nspawnVariables(settings: KeeperSettings): string[] {
  return [
    // Its system call filter breaks runc: "unable to join session keyring".
    'SYSTEMD_SECCOMP=0',
    // Network settings belong to the machine's own namespace; all other settings of the kernel stay read-only.
    'SYSTEMD_NSPAWN_API_VFS_WRITABLE=network',
    ...(settings.cgroupVersion === 1 ? ['SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0'] : []),
  ]
}

/** One word for the shell, whatever it contains. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
