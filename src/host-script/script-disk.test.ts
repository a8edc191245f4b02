import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FixtureHost, isRoot, startProcess } from './fixture-host.ts'

const trial = ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]
const mayMount = isRoot && (await startProcess(trial, {}).ended).code === 0

/** Disks of their own, in a mount namespace that ends with the test. The last line tells what is left. */
async function onDisk(steps: (host: FixtureHost) => readonly string[]) {
  const host = new FixtureHost()
  try {
    mkdirSync(host.state)
    const listing = 'echo "left:" $(ls -A state/requests var)'
    const script = [`cd ${host.folder}`, ...steps(host), listing].join('\n')
    const { stdout, stderr } = await startProcess(['unshare', '--mount', 'sh', '-c', script], host.env).ended
    return { stdout, stderr, host }
  } finally {
    host.remove()
  }
}

const disk = (folder: string, options: string) => `mount -t tmpfs -o mode=755,${options} tmpfs ${folder} || exit 1`
const run = (host: FixtureHost, ...args: string[]) => `sh ${host.script} ${args.join(' ')}; echo "code $?"`
const fill = (folder: string) => `cat /dev/zero > ${join(folder, 'filler')} 2> /dev/null`

describe.skipIf(!mayMount).concurrent('a disk that does not take it', () => {
  test('full: the request is named, and nothing of it is there', async () => {
    const { stdout, stderr, host } = await onDisk((host) => [
      disk('state', 'size=64k'),
      fill('state'),
      run(host, 'request', 'a', '--reason', 'x'),
    ])
    expect(stderr).toContain(`${join(host.requests, 'a')} could not be written and is as it was; is the disk full`)
    expect(stdout).toBe('code 1\nleft: state/requests: var:\n')
  })

  test('full: a failure cannot be noted, and the request is as it was', async () => {
    const { stdout, stderr, host } = await onDisk((host) => [
      disk('state', 'size=64k'),
      run(host, 'request', 'a'),
      fill('state'),
      run(host, 'fail', 'a', 'broken'),
      'grep -c . state/requests/a',
    ])
    expect(stderr).toContain(`${join(host.requests, 'a')} could not be written and is as it was`)
    expect(stdout).toBe('code 0\ncode 1\n2\nleft: state/requests: .ours a var: maintenance-required\n')
  })

  test('full: when the request file cannot be made, the request goes again', async () => {
    const { stdout, stderr, host } = await onDisk((host) => [disk('var', 'nr_inodes=1'), run(host, 'request', 'a')])
    expect(stderr).toContain(`${host.requestFile} could not be made; is the disk full or read-only? Nothing is asked`)
    expect(stdout).toBe('code 1\nleft: state/requests: var:\n')
  })

  test('read-only: the folder is named', async () => {
    const { stdout, stderr, host } = await onDisk((host) => [disk('state', 'ro'), run(host, 'request', 'a')])
    expect(stderr).toContain(`${host.state} could not be made`)
    expect(stdout).toBe('code 1\nleft: var:\n')
  })

  test('read-only: what cannot be given back is still asked for', async () => {
    const { stdout, stderr, host } = await onDisk((host) => [
      disk('var', 'size=64k'),
      run(host, 'request', 'a'),
      'mount -o remount,ro var',
      run(host, 'done', 'a'),
    ])
    expect(stderr).toContain(`${host.requestFile} could not be removed, so a is not done`)
    expect(stdout).toBe('code 0\ncode 1\nleft: state/requests: .ours a var: maintenance-required\n')
  })
})
