import { describe, expect, it } from 'vitest'
import { run } from '../../host/index.ts'
import { type KeeperSettings, keeperScript, nspawnArguments, shellQuote } from './keeper.ts'

const settings: KeeperSettings = {
  name: 'real-1',
  hierarchies: ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory'],
  cgroup: 'fettle/dev/real-1',
  stage: '/home/a person/machines/real-1/cgroup',
  cgroupVersion: 1,
  networkNamespace: '/run/netns/fettle-dev-1',
  root: "/home/it's/root",
  programs: [{ from: '/cache/a:b/node', to: '/usr/local/bin/node' }],
}

describe('the keeper of a machine', () => {
  it.each([1, 2] as const)('is a script that a shell can read, on cgroup version %s', async (cgroupVersion) => {
    const checked = await run(['sh', '-n'], { input: keeperScript({ ...settings, cgroupVersion }) })
    expect(checked).toMatchObject({ code: 0, stderr: '' })
  })

  it('covers the host’s cgroups only where systemd-nspawn does not', () => {
    expect(keeperScript(settings)).toContain('mount --rbind')
    expect(keeperScript({ ...settings, cgroupVersion: 2 })).not.toContain('mount --rbind')
    expect(nspawnArguments({ ...settings, cgroupVersion: 2 })).not.toContain('--bind=/sys/fs/cgroup')
  })

  it('boots again after a reboot and only then', () => {
    expect(keeperScript(settings)).toContain('[ "$code" -eq 133 ] || exit "$code"')
  })

  it('keeps a colon in a path from being read as the end of it', () => {
    expect(nspawnArguments(settings)).toContain('--bind-ro=/cache/a\\:b/node:/usr/local/bin/node')
  })

  it.each(['plain', 'two words', "it's", '$HOME `id` "x" \\', '', '*'])(
    'passes %j through a shell unchanged',
    async (word) => {
      const { stdout } = await run(['sh', '-c', `printf %s ${shellQuote(word)}`])
      expect(stdout).toBe(word)
    },
  )
})
