import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runOk } from '../host/index.ts'
import { commandsOfHost } from './host-commands.ts'
import { LinuxHost } from './linux-host.ts'
import type { RebootSettings } from './settings.ts'

const isRoot = process.getuid?.() === 0
let machine = ''
let nowMs = 1_800_000_000_000
beforeEach(() => {
  machine = mkdtempSync(join(tmpdir(), 'fettle-machine-'))
  for (const folder of ['var', 'run', 'boot', 'random']) mkdirSync(join(machine, folder))
  symlinkSync('/run', join(machine, 'var/run'))
  put('random/boot_id', 'boot-1\n')
})
afterEach(() => rmSync(machine, { recursive: true, force: true }))

const put = (path: string, text = '') => writeFileSync(join(machine, path), text)
const usual: RebootSettings = {
  files: ['/var/run/reboot-required'],
  kernel: false,
  method: 'none',
  command: 'false',
  signal: 39,
  delayMs: 0,
}

function hostOf(reboot: Partial<RebootSettings> = {}): LinuxHost {
  const mounts = Object.fromEntries(['var', 'run', 'boot'].map((name) => [`/${name}`, join(machine, name)]))
  const settings = {
    mounts: { ...mounts, '/proc/sys/kernel/random': join(machine, 'random') },
    requestFile: '/var/maintenance-required',
    permissionFile: '/var/maintenance-in-progress',
    stateFolder: '/var/lib/fettle',
    bootIdFile: '/proc/sys/kernel/random/boot_id',
    reboot: { ...usual, ...reboot },
  }
  return new LinuxHost(settings, commandsOfHost(true), { now: () => nowMs, monotonic: () => performance.now() })
}

const permitted = { request: 'r', requestUID: 'u', nodeUID: 'n', token: 3, bootID: 'boot-1', grantedAt: 'now' }

describe('a look at the machine', () => {
  it('finds a new one quiet', async () => {
    expect(await hostOf().look()).toEqual({
      request: { is: 'Absent' },
      permission: { is: 'Absent' },
      scripts: [],
      onlyScriptsAsk: false,
      reboot: { is: 'Absent' },
      bootID: 'boot-1',
      highestToken: 0,
      isToldToReboot: false,
      rebootsLastDay: 0,
    })
  })

  it('sees the file that asks, the permission and what was stored', async () => {
    const host = hostOf()
    put('var/maintenance-required')
    await host.storeHighestToken(3)
    await host.writePermission(permitted)
    expect(await host.look()).toMatchObject({
      request: { is: 'Present' },
      permission: { is: 'Present', content: permitted },
      highestToken: 3,
    })
    expect(statSync(join(machine, 'var/lib/fettle')).mode & 0o777).toBe(0o700)
    await host.deletePermission()
    expect(existsSync(join(machine, 'var/maintenance-in-progress'))).toBe(false)
  })

  it('takes a permission without our words for somebody else’s', async () => {
    for (const text of ['', 'null', '{"request":1}', 'yes']) {
      put('var/maintenance-in-progress', text)
      expect((await hostOf().look()).permission, text).toEqual({ is: 'Present' })
    }
  })

  it('takes a folder that is not there for unreadable, not for empty', async () => {
    rmSync(join(machine, 'var'), { recursive: true })
    expect(await hostOf().look()).toMatchObject({
      request: { is: 'Unreadable' },
      permission: { is: 'Unreadable' },
    })
  })

  it('says so when what it stored cannot be read', async () => {
    mkdirSync(join(machine, 'var/lib/fettle/highest-token'), { recursive: true })
    expect(await hostOf().look()).toMatchObject({ stateProblem: expect.stringContaining('EISDIR') })
  })

  it('reads the requests of scripts, and whether anybody else asks', async () => {
    const requests = join(machine, 'var/lib/fettle/requests')
    mkdirSync(requests, { recursive: true })
    put('var/lib/fettle/requests/kernel', 'reason=6.12\nsince=now\nreboot-from=boot-1\n')
    put('var/lib/fettle/requests/fan', 'reason=\nfailed=it = broken\n')
    put('var/lib/fettle/requests/.new', 'reason=half\n')
    put('var/maintenance-required')
    put('var/lib/fettle/requests/.ours')
    expect(await hostOf().look()).toMatchObject({
      scripts: [
        { name: 'fan', reason: '', failed: 'it = broken' },
        { name: 'kernel', reason: '6.12', rebootFrom: 'boot-1' },
      ],
      onlyScriptsAsk: true,
    })
    utimesSync(join(machine, 'var/maintenance-required'), Date.now() / 1000 + 5, Date.now() / 1000 + 5)
    expect((await hostOf().look()).onlyScriptsAsk).toBe(false)
  })

  it('without its boot ID says nothing at all', async () => {
    rmSync(join(machine, 'random/boot_id'))
    await expect(hostOf().look()).rejects.toThrow('boot_id')
  })
})

describe('a need to reboot', () => {
  const needOf = async (settings: Partial<RebootSettings>) => (await hostOf(settings).look()).reboot

  it('is a file on the host’s own /run, with the packages that want it', async () => {
    put('run/reboot-required')
    expect(await needOf({})).toMatchObject({ is: 'Present', key: '/var/run/reboot-required' })
    put('run/reboot-required.pkgs', 'linux-image-6.12\nlibc6\nlibc6\n')
    expect(await needOf({})).toMatchObject({ reason: 'a reboot is required by linux-image-6.12, libc6' })
  })

  it.each([
    ['yes', 'exit 0', { is: 'Present', key: 'check' }],
    ['no', 'exit 1', { is: 'Absent' }],
    ['an exit code without a meaning', 'exit 2', { is: 'Unreadable', why: expect.stringContaining('exit code 2') }],
    [
      'a program that is not there',
      'no-such-program-here',
      { is: 'Unreadable', why: expect.stringContaining('exit code 127') },
    ],
  ])('asked of a command: %s', async (_what, command, answer) => {
    expect(await needOf({ files: [], check: { command, yes: [0], no: [1] } })).toMatchObject(answer)
  })

  it('of a turned-around check is no yes when its program is missing', async () => {
    const check = { command: 'needs-restarting-which-is-not-here', yes: [1], no: [0] }
    expect(await needOf({ files: [], check })).toMatchObject({ is: 'Unreadable' })
  })

  it('is a newer kernel of the same kind in /boot', async () => {
    const [, flavour = ''] = /-([a-z][a-z0-9-]*)$/.exec(release()) ?? []
    put(`boot/vmlinuz-99.1.0${flavour ? `-${flavour}` : ''}`)
    expect(await needOf({ kernel: true })).toMatchObject({ is: 'Present', key: 'kernel' })
    expect(await needOf({ kernel: false })).toEqual({ is: 'Absent' })
  })

  it('is found although another detector fails; alone, the failure is told', async () => {
    put('run/reboot-required')
    const broken = { command: 'exit 9', yes: [0], no: [1] }
    expect(await needOf({ check: broken })).toMatchObject({ is: 'Present' })
    rmSync(join(machine, 'run/reboot-required'))
    expect(await needOf({ check: broken })).toMatchObject({ is: 'Unreadable' })
  })
})

describe('the order to reboot', () => {
  it('runs the command, and is remembered for a day', async () => {
    const host = hostOf({ method: 'command', command: `echo down > ${join(machine, 'ordered')}` })
    await host.reboot()
    expect(readFileSync(join(machine, 'ordered'), 'utf8')).toBe('down\n')
    expect(await host.look()).toMatchObject({ rebootsLastDay: 1, isToldToReboot: true })
    put('random/boot_id', 'boot-2\n')
    expect(await host.look()).toMatchObject({ rebootsLastDay: 1, isToldToReboot: false })
    nowMs += 86_400_001
    expect((await host.look()).rebootsLastDay).toBe(0)
  })

  it('is remembered even if the command fails, and says how', async () => {
    const host = hostOf({ method: 'command', command: 'echo no such unit >&2; exit 5' })
    await expect(host.reboot()).rejects.toThrow('ended with exit code 5: no such unit')
    expect((await host.look()).rebootsLastDay).toBe(1)
  })

  it('is refused where nobody may reboot', async () => {
    await expect(hostOf().reboot()).rejects.toThrow('--reboot-method is none')
  })
})

describe('a disk that takes nothing more (needs root to mount)', () => {
  const onDisk = async (options: string, work: () => Promise<void>) => {
    await runOk(['mount', '-t', 'tmpfs', '-o', options, 'fettle-test', join(machine, 'var')])
    try {
      await work()
    } finally {
      await runOk(['umount', join(machine, 'var')])
    }
  }

  it.skipIf(!isRoot)('is an error that names the reason, and the permission is not there', async () => {
    await onDisk('nr_inodes=2', async () => {
      put('var/maintenance-required')
      const host = hostOf()
      await expect(host.writePermission(permitted)).rejects.toThrow('ENOSPC')
      expect(await host.look()).toMatchObject({ request: { is: 'Present' }, permission: { is: 'Absent' } })
    })
    await onDisk('ro', async () => {
      await expect(hostOf().writePermission(permitted)).rejects.toThrow('EROFS')
    })
  })
})

it('the helper for scripts is written where they find it, once, and knows this machine’s paths', async () => {
  const host = hostOf()
  await host.installScript()
  const place = join(machine, 'var/lib/fettle/host')
  const made = statSync(place)
  expect(made.mode & 0o777).toBe(0o755)
  expect(readFileSync(place, 'utf8')).toMatch(
    /^#!\/bin\/sh\n: "\$\{FETTLE_REQUEST_FILE:=\/var\/maintenance-required\}"\n/,
  )
  await runOk(['sh', '-n', place])
  expect(existsSync(join(machine, 'var/lib/fettle/requests')), 'what is not there cannot be watched').toBe(true)
  await host.installScript()
  expect(statSync(place).ino).toBe(made.ino)
  chmodSync(place, 0o600)
})
