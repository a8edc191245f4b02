import { mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { startTicksOf } from '../host/index.ts'
import { FixtureHost, shells, startProcess } from './fixture-host.ts'
import { hostScript } from './script.ts'

const until = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 20 })

describe.concurrent.each(shells)('with $shell', ({ argv, mayRun }) => {
  const inShell = test
    .extend('host', ({ onTestFinished }) => {
      const host = new FixtureHost(argv)
      onTestFinished(() => host.remove())
      return host
    })
    .skipIf(!mayRun)

  inShell('it has no syntax that this shell does not know', async ({ host }) => {
    const [command = '', ...words] = argv
    expect(await startProcess([command, ...words, '-n', host.script], {}).ended).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  inShell('a script asks, waits, works and is done', async ({ host }) => {
    expect(await host.run('status', 'kernel')).toMatchObject({ code: 3, stdout: 'absent\n' })
    expect(await host.run('request', 'kernel', '--reason', 'kernel 6.12')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(host.read('kernel')).toEqual({
      reason: 'kernel 6.12',
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect(statSync(host.requestFile)).toMatchObject({ size: 0, nlink: 1 })
    expect(await host.run('status', 'kernel')).toMatchObject({ code: 75, stdout: 'waiting\n' })
    const waiting = host.start(['wait', 'kernel'])
    await until(() => expect(waiting.stderr()).toMatch(/kernel: waiting for permission to work: .*in-progress\n$/))
    host.grant()
    expect((await waiting.ended).code).toBe(0)
    expect(await host.run('status', 'kernel')).toMatchObject({ code: 0, stdout: 'granted\n' })
    expect(await host.run('done', 'kernel')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(host.leftovers()).toEqual(['maintenance-in-progress'])
    expect(await host.run('done', 'kernel')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  inShell(
    'the request file goes with the last request, and the second one gets the same permission',
    async ({ host }) => {
      await host.run('request', 'a')
      await host.run('request', 'b', '--reason', 'firmware')
      host.grant()
      expect((await host.run('wait', 'b')).code).toBe(0)
      await host.run('done', 'a')
      expect(host.isAsked()).toBe(true)
      const { stdout } = await host.run('status')
      expect(stdout).toBe(`b\tgranted\t${host.read('b')['since']}\tfirmware\n`)
      await host.run('done', 'b')
      expect(host.isAsked()).toBe(false)
    },
  )

  inShell('asking again keeps the request and forgets the failure', async ({ host }) => {
    await host.run('request', 'a', '--reason', 'first')
    const before = host.read('a')
    expect((await host.run('fail', 'a', 'the disk is not well')).code).toBe(0)
    expect(host.isAsked()).toBe(true)
    expect(host.read('a')).toEqual({ ...before, failed: 'the disk is not well' })
    expect(await host.run('status', 'a')).toMatchObject({ code: 4, stdout: 'failed\n' })
    expect((await host.run('request', 'a', '--reason', 'second')).code).toBe(0)
    expect(host.read('a')).toEqual(before)
  })

  inShell('nothing is asked for while the turn before is ending', async ({ host }) => {
    host.grant()
    expect(await host.run('request', 'a', '--timeout', '1')).toMatchObject({
      code: 75,
      stderr: expect.stringContaining('gave up after 1 s: the turn before is ending'),
    })
    expect(host.leftovers()).toEqual(['maintenance-in-progress'])
    const asking = host.start(['request', 'a'])
    await until(() => expect(asking.stderr()).toContain('the turn before is ending'))
    expect(host.isAsked()).toBe(false)
    host.takePermissionBack()
    expect((await asking.ended).code).toBe(0)
    expect(host.isAsked()).toBe(true)
  })

  inShell('a reboot is noted for this boot, taken back in time, and known after it', async ({ host }) => {
    await host.run('request', 'a')
    host.grant()
    expect((await host.run('wait', 'a', '--for', 'reboot', '--timeout', '1')).code).toBe(75)
    expect(host.read('a')).not.toHaveProperty('reboot-from')

    const killed = host.start(['wait', 'a', '--for', 'reboot'])
    await until(() => expect(host.read('a')).toHaveProperty('reboot-from', 'boot-1'))
    killed.kill()
    expect(await host.run('status', 'a')).toMatchObject({ stdout: 'granted\n' })
    // Whoever is back at work before the reboot must not be rebooted.
    expect((await host.run('wait', 'a')).code).toBe(0)
    expect(host.read('a')).not.toHaveProperty('reboot-from')

    const waiting = host.start(['wait', 'a', '--for', 'reboot'])
    await until(() => expect(waiting.stderr()).toContain('waiting for this host to be rebooted'))
    host.reboot('boot-2')
    expect((await waiting.ended).code).toBe(0)
    expect((await host.run('request', 'a')).code).toBe(0)
    expect(await host.run('status', 'a')).toMatchObject({ code: 0, stdout: 'rebooted\n' })
  })

  inShell('who waits is told when the request is withdrawn', async ({ host }) => {
    expect((await host.run('wait', 'a')).code).toBe(3)
    expect((await host.run('fail', 'a', 'why')).code).toBe(3)
    await host.run('request', 'a')
    const waiting = host.start(['wait', 'a'])
    await until(() => expect(waiting.stderr()).toContain('waiting for permission'))
    await host.run('done', 'a')
    expect((await waiting.ended).code).toBe(3)
  })

  inShell('the lock of the dead is taken over, that of the living is waited for', async ({ host }) => {
    mkdirSync(host.lock, { recursive: true })
    const ticks = startTicksOf(process.pid)
    for (const dead of [`999999999.5.boot-1`, `${process.pid}.1.boot-1`, `${process.pid}.${ticks}.boot-0`, 'junk'])
      writeFileSync(join(host.lock, dead), '')
    expect((await host.run('request', 'a')).code).toBe(0)
    for (const pid of [process.pid, 1]) {
      const living = join(host.lock, `${pid}.${startTicksOf(pid)}.boot-1`)
      writeFileSync(living, '')
      expect(await host.run('done', 'a', '--timeout', '1')).toMatchObject({
        code: 75,
        stderr: expect.stringContaining(`process ${pid} is changing the requests`),
      })
      expect(host.names()).toEqual(['a'])
      rmSync(living)
    }
    expect((await host.run('done', 'a')).code).toBe(0)
    expect(host.leftovers()).toEqual([])
  })

  inShell('the living one in the lock is waited for even if it came later', async ({ host }) => {
    await host.run('request', 'a')
    const go = join(host.folder, 'go')
    // Its own process id is lower than that of its child, and exec keeps it.
    const words = ['sleep 60 & echo $!', `until [ -f ${go} ]; do sleep 0.1; done`, 'exec "$@"'].join('\n')
    const command = [...argv, host.script, 'done', 'a', '--timeout', '1']
    const done = startProcess(['sh', '-c', words, 'sh', ...command], host.env)
    await until(() => expect(done.stdout()).toMatch(/\n$/))
    const pid = Number(done.stdout())
    writeFileSync(join(host.lock, `${pid}.${startTicksOf(pid)}.boot-1`), '')
    writeFileSync(go, '')
    await until(() => expect(done.stderr()).toContain(`gave up after 1 s: process ${pid} is changing the requests`))
    expect(host.names()).toEqual(['a'])
    done.kill()
    await done.ended
    expect((await host.run('done', 'a')).code).toBe(0)
    expect(host.leftovers()).toEqual([])
  })

  describe('next to a script of the old kind', () => {
    inShell('a request file that was there before stays', async ({ host }) => {
      writeFileSync(host.requestFile, '')
      await host.run('request', 'a')
      expect((await host.run('done', 'a')).stderr).toContain('stays: something else made or touched it')
      expect(host.isAsked()).toBe(true)
      expect(host.names()).toEqual([])
    })

    inShell('a request file that was touched meanwhile stays', async ({ host }) => {
      await host.run('request', 'a')
      const later = new Date(Date.now() + 2_000)
      utimesSync(host.requestFile, later, later)
      await host.run('done', 'a')
      expect(host.isAsked()).toBe(true)
    })

    inShell('a request file that was removed under us is made again, once the turn has ended', async ({ host }) => {
      await host.run('request', 'a')
      host.grant()
      rmSync(host.requestFile)
      expect(await host.run('status', 'a')).toMatchObject({ code: 75, stdout: 'waiting\n' })
      const waiting = host.start(['wait', 'a'])
      await until(() => expect(waiting.stderr()).toContain('waiting for permission'))
      expect(host.isAsked()).toBe(false)
      host.takePermissionBack()
      await until(() => expect(host.isAsked()).toBe(true))
      host.grant()
      expect((await waiting.ended).code).toBe(0)
      await host.run('done', 'a')
      expect(host.isAsked()).toBe(false)
    })

    inShell('who failed asks again, so that the node stays out', async ({ host }) => {
      await host.run('request', 'a')
      rmSync(host.requestFile)
      expect((await host.run('fail', 'a', 'broken')).code).toBe(0)
      expect(host.isAsked()).toBe(true)
    })
  })

  inShell('a link or a folder in place of the request file is refused, and nothing is written', async ({ host }) => {
    mkdirSync(host.requestFile)
    expect(await host.run('request', 'a')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${host.requestFile} is not a plain file; remove it`),
    })
    rmSync(host.requestFile, { recursive: true })
    symlinkSync('elsewhere', host.requestFile)
    expect(await host.run('request', 'a')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${host.requestFile} is a symbolic link; remove it`),
    })
    expect(host.names()).toEqual([])
  })

  inShell('a reason is one line without control characters, and not too long', async ({ host }) => {
    await host.run('request', 'a', '--reason', `grün\tund\nfailed=x \u001b[31m${'y'.repeat(300)}`)
    expect(host.read('a')).toEqual({
      reason: expect.stringMatching(/^grün und failed=x \[31my+$/),
      since: expect.any(String),
    })
    expect(Buffer.byteLength(host.read('a')['reason'] ?? '')).toBe(200)
  })

  inShell.for<[string[], string]>([
    [[], "'' is no command"],
    [['reboot'], "'reboot' is no command"],
    [['request'], 'request: name the request'],
    [['request', 'A'], "'A' is no name"],
    [['request', '.a'], "'.a' is no name"],
    [['request', '../a'], "'../a' is no name"],
    [['request', 'a'.repeat(64)], 'too long for a name'],
    [['request', 'a', 'b'], "'b' is one word too many"],
    [['request', 'a', '--reason'], '--reason needs a value'],
    [['done', 'a', '--reason', 'b'], 'done does not take --reason'],
    [['wait', 'a', '--for', 'ever'], 'only reboot can be waited for'],
    [['wait', 'a', '--timeout', '1m'], '--timeout 1m: write a number of seconds'],
    [['wait', 'a', '--timeout', '08'], '--timeout 08: write a number of seconds'],
    [['status', 'a', '--timeout', '1'], 'status does not wait'],
    [['fail', 'a'], 'fail: say why'],
  ])('%j is misuse, and nothing happens', async ([args, says], { host }) => {
    const { code, stdout, stderr } = await host.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr).toContain('Write one of:')
    expect(host.leftovers()).toEqual([])
  })

  inShell('others than root are told so', async ({ host }) => {
    const command = [...argv, '-c', hostScript, 'host', 'request', 'a']
    const { code, stderr } = await startProcess(command, host.env, { uid: 65_534 }).ended
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('only root may ask') })
    expect(host.leftovers()).toEqual([])
  })
})
