import { imageFolder, type MachineFile } from './config.ts'

/** The systemd side of a machine: which services it runs, which it must not. No I/O. */

/**
 * The kubelet insists on these and would write them; but they belong to the host's kernel and are read-only in
 * here. So it is shown files that hold what it wants to read.
 */
const kernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

/** By default systemd leaves a service alone that fails five times within ten seconds, and the node would never come back. */
const neverGiveUp = 'StartLimitIntervalSec=0'

const units: Readonly<Record<string, string>> = {
  'fettle-boot.service': `[Unit]
Description=Start with a fresh network and the kernel settings that the kubelet expects
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target containerd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /usr/local/lib/fettle/boot

[Install]
WantedBy=sysinit.target
`,
  'containerd.service': `[Unit]
Description=containerd
${neverGiveUp}

[Service]
Type=notify
ExecStart=/usr/local/bin/containerd
Restart=always
RestartSec=1
Delegate=yes
# Containers outlive a restart of containerd.
KillMode=process
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
`,
  'fettle-images.service': `[Unit]
Description=Import the image archives in ${imageFolder}
After=containerd.service
Requires=containerd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for archive in ${imageFolder}/*.tar; do /usr/local/bin/ctr --namespace k8s.io images import "$archive" || exit; done'

[Install]
WantedBy=multi-user.target
`,
  'kubelet.service': `[Unit]
Description=kubelet
${neverGiveUp}
After=fettle-images.service
Wants=fettle-images.service

[Service]
EnvironmentFile=/etc/kubernetes/kubelet.environment
ExecStart=/usr/local/bin/node kubelet --config=/etc/kubernetes/kubelet.json --kubeconfig=/etc/kubernetes/kubelet.kubeconfig --hostname-override=\${NODE_NAME} --node-ip=\${NODE_ADDRESS} --node-labels=\${NODE_LABELS}
Restart=always
RestartSec=1
# Containers that the kubelet helped to start outlive its restart.
KillMode=process

[Install]
WantedBy=multi-user.target
`,
  'kube-proxy.service': `[Unit]
Description=kube-proxy
${neverGiveUp}

[Service]
ExecStart=/usr/local/bin/node kube-proxy --config=/etc/kubernetes/kube-proxy.json
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`,
}

/** Nobody logs in, and package maintenance or kernel file systems are the host's business. */
const masked = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'console-getty.service',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'getty.target',
  'dev-hugepages.mount',
  'dev-mqueue.mount',
  'sys-fs-fuse-connections.mount',
  'sys-kernel-config.mount',
  'sys-kernel-debug.mount',
  'sys-kernel-tracing.mount',
]

function bootScript(): string {
  const show = Object.keys(kernelSettings).map(
    (name) => `[ ! -e /proc/sys/${name} ] || mount --bind /usr/local/lib/fettle/${fileOf(name)} /proc/sys/${name}`,
  )
  return [
    'set -eu',
    '# The network namespace outlives a reboot; the rules in it must not.',
    'nft flush ruleset',
    ...show,
    '',
  ].join('\n')
}

function fileOf(setting: string): string {
  return setting.replaceAll('/', '.')
}

export function unitFiles(): MachineFile[] {
  return [
    ...Object.entries(units).map(([name, text]) => ({ path: `/etc/systemd/system/${name}`, text })),
    ...Object.entries(kernelSettings).map(([name, value]) => ({
      path: `/usr/local/lib/fettle/${fileOf(name)}`,
      text: `${value}\n`,
    })),
    { path: '/usr/local/lib/fettle/boot', text: bootScript() },
    { path: '/etc/sysctl.d/50-fettle.conf', text: 'net.ipv4.ip_forward = 1\n' },
    // A reboot must not wait long for a pod that ignores SIGTERM.
    { path: '/etc/systemd/system.conf.d/fettle.conf', text: '[Manager]\nDefaultTimeoutStopSec=5s\n' },
    // Kernel messages are the host's; what the machine said before a reboot must be readable after it.
    {
      path: '/etc/systemd/journald.conf.d/fettle.conf',
      text: '[Journal]\nStorage=persistent\nSystemMaxUse=64M\nReadKMsg=no\n',
    },
  ]
}

export interface MachineLink {
  readonly path: string
  readonly target: string
}

/** What `systemctl enable` and `systemctl mask` would make. */
export function unitLinks(): MachineLink[] {
  const enabled = Object.entries(units).map(([name, text]) => {
    const wantedBy = /^WantedBy=(.*)$/m.exec(text)?.[1] ?? ''
    return { path: `/etc/systemd/system/${wantedBy}.wants/${name}`, target: `/etc/systemd/system/${name}` }
  })
  return [...enabled, ...masked.map((name) => ({ path: `/etc/systemd/system/${name}`, target: '/dev/null' }))]
}
