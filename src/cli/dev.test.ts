import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ClusterStatus } from '../dev/index.ts'
import { addDevCommands, statusText } from './dev.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fettle-cli-'))
  vi.stubEnv('FETTLE_HOME', home)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

async function dev(...args: string[]) {
  const said = { out: '', err: '', code: 0 }
  const program = new Command('fettle').exitOverride().configureOutput({ writeErr: (text) => (said.err += text) })
  addDevCommands(program, {
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
    progress: { write: (text) => (said.err += text) },
    nowMs: () => 0,
    signal: new AbortController().signal,
    exitCode: (code) => {
      said.code = code
    },
  })
  await program.parseAsync(['dev', ...args], { from: 'user' })
  return said
}

describe('a cluster that does not exist', () => {
  it.each([
    ['stop', []],
    ['start', []],
    ['status', []],
    ['logs', ['etcd']],
    ['kubectl', ['get', 'nodes']],
    ['node', ['add']],
    ['node', ['remove', 'node-1']],
    ['node', ['reboot', 'node-1']],
  ])('is named by %s %j, with the way to make it', async (command, args) => {
    await expect(dev(command, ...args, '--name', 'none')).rejects.toThrow(
      'there is no cluster named none; `fettle dev up --name none` makes it, `fettle dev status` lists all',
    )
  })

  it('is no reason for down to fail', async () => {
    expect(await dev('down', '--name', 'none')).toEqual({
      out: '',
      err: 'there is no cluster named none; nothing to do\n',
      code: 0,
    })
  })
})

describe('status', () => {
  it('says how to begin when there is nothing', async () => {
    expect(await dev('status')).toEqual({ out: 'no clusters; `fettle dev up` makes one\n', err: '', code: 0 })
    expect(JSON.parse((await dev('status', '-o', 'json')).out)).toEqual([])
  })

  it('tells a broken cluster by its exit code, and is not confused by strange files', async () => {
    for (const name of ['crashed', 'Not A Cluster']) mkdirSync(join(home, 'clusters', name), { recursive: true })
    expect(await dev('status')).toEqual({
      out: 'crashed: broken: its record is missing or unreadable; remove it with `fettle dev down --name crashed`\n',
      err: '',
      code: 1,
    })
  })

  it('prints a whole cluster', () => {
    const status: ClusterStatus = {
      name: 'a',
      state: 'degraded',
      message: 'kwok not running; do this',
      server: 'https://127.0.0.1:20001',
      kubeconfig: '/h/clusters/a/kubeconfig',
      components: [
        { name: 'etcd', pid: 7, memoryMiB: 120 },
        { name: 'kwok', pid: null, memoryMiB: 0 },
      ],
      nodes: { ready: 2, total: 3, simulated: 2, real: 1 },
      pods: { running: 4, total: 5 },
    }
    expect(statusText(status)).toBe(
      [
        'a: degraded: kwok not running; do this',
        '  server      https://127.0.0.1:20001',
        '  kubeconfig  /h/clusters/a/kubeconfig',
        '  nodes       2 of 3 ready (2 simulated, 1 real)',
        '  pods        4 of 5 running',
        '  etcd                    pid 7, 120 MiB',
        '  kwok                    not running',
        '',
      ].join('\n'),
    )
  })

  it('shows no counts of a cluster that is stopped', () => {
    const nothing = { nodes: { ready: 0, total: 0, simulated: 0, real: 0 }, pods: { running: 0, total: 0 } }
    const base = { name: 'a', server: 's', kubeconfig: 'k', components: [], ...nothing }
    expect(statusText({ ...base, state: 'stopped', message: 'start it' })).toBe(
      'a: stopped: start it\n  server      s\n  kubeconfig  k\n',
    )
  })
})

describe('a flag that cannot be right', () => {
  it.each([
    ['up', '--nodes', '-1'],
    ['up', '--zones', '27'],
    ['up', '--real-nodes', '17'],
    ['node', 'add', '0'],
    ['logs', 'etcd', '--tail', '0'],
    ['status', '-o', 'xml'],
  ])('is refused before anything happens: %s %s %s', async (...args) => {
    await expect(dev(...args)).rejects.toMatchObject({ exitCode: 1 })
  })
})
