import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { FixtureHost, isRoot, startProcess } from './fixture-host.ts'

const root = resolve(import.meta.dirname, '../..')
const examples = join(root, 'examples/host-scripts')
const read = (name: string) => readFileSync(join(examples, name), 'utf8')

test.each(['minimal.sh', 'upgrade-packages.sh', 'upgrade-packages.service', 'upgrade-packages.timer'])(
  'the guide shows %s as it is',
  (name) => {
    const guide = readFileSync(join(root, 'docs/guides/scripts-on-the-host.md'), 'utf8')
    const blocks = [...guide.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, text]) => text)
    expect(blocks).toContain(read(name))
  },
)

/** A host on which the programs that an example calls are small scripts of the test. */
class ExampleHost extends FixtureHost {
  readonly programs = join(this.folder, 'programs')
  readonly calls = join(this.folder, 'calls')
  readonly rebootRequired = join(this.folder, 'reboot-required')

  program(name: string, ...lines: string[]): void {
    mkdirSync(this.programs, { recursive: true })
    const path = join(this.programs, name)
    writeFileSync(path, ['#!/bin/sh', `echo "${name} $*" >> ${this.calls}`, ...lines, ''].join('\n'))
    chmodSync(path, 0o755)
  }

  example(name: string, ...args: string[]) {
    return startProcess([join(examples, name), ...args], {
      ...this.env,
      FETTLE_HOST: this.script,
      REBOOT_REQUIRED: this.rebootRequired,
      PATH: `${this.programs}:${process.env['PATH']}`,
    })
  }

  called(): string[] {
    return existsSync(this.calls) ? readFileSync(this.calls, 'utf8').trimEnd().split('\n') : []
  }
}

const until = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 20 })
const onHost = test
  .extend('host', ({ onTestFinished }) => {
    const host = new ExampleHost()
    onTestFinished(() => host.remove())
    return host
  })
  .skipIf(!isRoot)

describe.concurrent('minimal.sh', () => {
  onHost('works only with permission, and gives the node back', async ({ host }) => {
    host.program('install-firmware', `test -f ${host.permissionFile}`)
    const script = host.example('minimal.sh')
    await until(() => expect(script.stderr()).toContain('waiting for permission'))
    expect(host.called()).toEqual([])
    host.grant()
    expect((await script.ended).code).toBe(0)
    expect(host.called()).toEqual(['install-firmware'])
    expect(host.isAsked()).toBe(false)
  })

  onHost('keeps the node when it fails, and may be run again', async ({ host }) => {
    await host.run('request', 'firmware')
    host.grant()
    host.program('install-firmware', 'exit 1')
    expect((await host.example('minimal.sh').ended).code).toBe(1)
    expect(host.isAsked()).toBe(true)
    expect(await host.run('status', 'firmware')).toMatchObject({ stdout: 'failed\n' })
    host.program('install-firmware')
    expect((await host.example('minimal.sh').ended).code).toBe(0)
    expect(host.isAsked()).toBe(false)
  })
})

describe.concurrent('upgrade-packages.sh', () => {
  const upgrade = 'apt-get -qq -y upgrade'

  onHost('asks for nothing when there is nothing to upgrade', async ({ host }) => {
    host.program('apt-get')
    expect((await host.example('upgrade-packages.sh').ended).code).toBe(0)
    expect(host.called()).toEqual(['apt-get -qq update', 'apt-get -s upgrade'])
    expect(host.leftovers()).toEqual([])
  })

  onHost('upgrades, is rebooted, checks the host, and is done', async ({ host }) => {
    host.program('apt-get', `[ "$1" != -s ] || echo 'Inst linux-image'`, `[ "$2" != -y ] || : > ${host.rebootRequired}`)
    host.program('systemctl')
    const first = host.example('upgrade-packages.sh')
    await until(() => expect(host.isAsked()).toBe(true))
    host.grant()
    await until(() => expect(host.read('upgrade-packages')).toHaveProperty('reboot-from', 'boot-1'))
    expect(host.called().slice(2)).toEqual([upgrade])
    first.kill()
    host.reboot('boot-2')
    expect((await host.example('upgrade-packages.sh').ended).code).toBe(0)
    expect(host.called().slice(3)).toEqual(['systemctl list-units --failed --plain --no-legend'])
    expect(host.leftovers()).toEqual(['maintenance-in-progress'])
  })

  onHost('keeps a host that is not well, and waits for a person', async ({ host }) => {
    host.program('apt-get', `[ "$1" != -s ] || echo 'Inst nginx'`)
    host.program('systemctl', `echo 'nginx.service loaded failed failed web'`)
    const script = host.example('upgrade-packages.sh')
    await until(() => expect(host.isAsked()).toBe(true))
    host.grant()
    expect((await script.ended).code).toBe(1)
    expect(host.read('upgrade-packages')).toMatchObject({ failed: 'failed units: nginx.service' })
    const calls = host.called().length
    expect((await host.example('upgrade-packages.sh').ended).code).toBe(1)
    expect(host.called()).toHaveLength(calls)
    host.program('systemctl')
    expect((await host.example('upgrade-packages.sh', 'again').ended).code).toBe(0)
    expect(host.isAsked()).toBe(false)
  })
})
