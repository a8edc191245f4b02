import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type HostMounts, hostPath } from './host-path.ts'

let host = ''
let mounts: HostMounts = {}
beforeEach(() => {
  host = mkdtempSync(join(tmpdir(), 'fettle-host-path-'))
  for (const folder of ['var/lib', 'run', 'other']) mkdirSync(join(host, folder), { recursive: true })
  mounts = { '/var': join(host, 'var'), '/run': join(host, 'run') }
})
afterEach(() => rmSync(host, { recursive: true, force: true }))

describe('a path of the host', () => {
  it('lies where its folder is mounted, and the longest mount wins', async () => {
    expect(await hostPath('/var/maintenance-required', mounts)).toBe(join(host, 'var/maintenance-required'))
    const more = { ...mounts, '/var/lib': join(host, 'other') }
    expect(await hostPath('/var/lib/fettle', more)).toBe(join(host, 'other/fettle'))
    expect(await hostPath('/variable', mounts), 'a name that only begins like a mount').toBe('/variable')
  })

  it('is its own place without mounts', async () => {
    expect(await hostPath('/no/such/folder/file', {})).toBe('/no/such/folder/file')
  })

  it("follows the host's links in the host's tree, not in ours", async () => {
    symlinkSync('/run', join(host, 'var/run'))
    symlinkSync('../run', join(host, 'var/relative'))
    for (const path of ['/var/run/reboot-required', '/var/relative/reboot-required'])
      expect(await hostPath(path, mounts), path).toBe(join(host, 'run/reboot-required'))
  })

  it('follows a link in the last place only for who looks', async () => {
    writeFileSync(join(host, 'run/real'), '')
    symlinkSync('/run/real', join(host, 'var/link'))
    expect(await hostPath('/var/link', mounts)).toBe(join(host, 'var/link'))
    expect(await hostPath('/var/link', mounts, { followsLast: true })).toBe(join(host, 'run/real'))
  })

  it('never leaves the tree upwards, and refuses links without an end', async () => {
    expect(await hostPath('/var/../../../run/x', mounts)).toBe(join(host, 'run/x'))
    symlinkSync('/var/b/x', join(host, 'var/a'))
    symlinkSync('/var/a/x', join(host, 'var/b'))
    await expect(hostPath('/var/a/y', mounts)).rejects.toThrow('too many links')
  })
})
