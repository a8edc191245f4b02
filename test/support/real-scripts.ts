import { hostProgram } from './real-host.ts'

/** What runs on real nodes in tests. */

/** Installs something, needs a reboot for it, and goes on after it. */
export const upgrade = `#!/bin/sh
set -eu
state=$(${hostProgram} status upgrade) || true
[ "$state" != absent ] || [ ! -e /usr/share/upgrade/installed-in ] || exit 0
${hostProgram} request upgrade --reason 'package 2.0'
${hostProgram} wait upgrade
if [ "$state" != rebooted ]; then
  mkdir -p /usr/share/upgrade
  cat /proc/sys/kernel/random/boot_id >/usr/share/upgrade/installed-in
  ${hostProgram} wait upgrade --for reboot
fi
if cmp -s /usr/share/upgrade/installed-in /proc/sys/kernel/random/boot_id; then
  ${hostProgram} fail upgrade 'the host has not rebooted'
  exit 1
fi
touch /usr/share/upgrade/validated
${hostProgram} done upgrade
`

/** Works until it is told that it is enough. */
export const longWork = `#!/bin/sh
set -eu
${hostProgram} request work
${hostProgram} wait work
until [ -e /run/enough ]; do sleep 0.2; done
${hostProgram} done work
`

/** What lies in /var stays where it is, and /var itself becomes a file system of 64 KiB. */
export const coverVar = `mkdir -p /run/small
mount -t tmpfs -o size=64k small /run/small
for path in /var/*; do
  if [ -L "$path" ]; then cp -P "$path" /run/small
  else mkdir "/run/small/\${path##*/}"; mount --rbind "$path" "/run/small/\${path##*/}"; fi
done
mount --rbind /run/small /var`
/** Shared, what is unmounted here would be unmounted below as well. */
export const uncoverVar = `mount --make-rprivate /var; umount --lazy /var
mount --make-rprivate /run/small; umount --lazy /run/small`
