import { existsSync } from 'node:fs'
import { execa } from 'execa'

/** What the tests use beyond Node, Go and git, by the file that proves it is there. */
const packages: Readonly<Record<string, string>> = {
  'systemd-container': '/usr/bin/systemd-nspawn',
  debootstrap: '/usr/sbin/debootstrap',
  iproute2: '/usr/sbin/ip',
  busybox: '/bin/busybox',
}

/** Installs missing Debian packages where it may; elsewhere says what is missing, and those tests are skipped. */
export async function installPackages(): Promise<void> {
  const missing = Object.keys(packages).filter((name) => !existsSync(packages[name] ?? ''))
  if (missing.length === 0) return
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    console.log(
      `Not installed, and not root on a Debian system, so tests that need them are skipped: ${missing.join(', ')}`,
    )
    return
  }
  console.log(`Installing Debian packages that tests need: ${missing.join(', ')}`)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await execa('apt-get', ['update', '-qq'], { env, stdout: 'ignore', stderr: 'inherit' })
  await execa('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], {
    env,
    stdout: 'ignore',
    stderr: 'inherit',
  })
}
