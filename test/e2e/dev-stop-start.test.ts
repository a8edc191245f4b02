import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterRecord, type ClusterStatus, readRecord } from '../../src/dev/index.ts'
import { fettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf } from '../support/leftovers.ts'
import { occupy } from '../support/ports.ts'

const home = temporaryHome()
const name = 'sleeper'
const dev = (command: string, ...args: string[]) =>
  fettle(['dev', command, '--name', name, ...args], { home: home.path })
const kubectl = (...args: string[]) => dev('kubectl', '--', ...args)
const record = (): ClusterRecord => {
  const found = readRecord(name, { home: home.path, cache: '' })
  if (!found) throw new Error('no record')
  return found
}

beforeAll(async () => {
  const up = await dev('up', '--nodes', '2')
  expect(up.stderr).toContain('2 nodes are ready')
  await kubectl('create', 'configmap', 'kept', '--from-literal=word=fettle')
})
afterAll(() => home.remove())

describe('a stopped cluster', () => {
  test('has no process, and says how to continue', async () => {
    const stop = await dev('stop')
    expect(stop.code).toBe(0)
    expect(stop.stderr).toContain('`fettle dev start --name sleeper` continues it')
    expect(leftoversOf(home.path).processes).toEqual([])
    const status = await dev('status')
    expect(status.stdout).toMatch(/^sleeper: stopped: start it with `fettle dev start --name sleeper`\n/)
    expect(status.code).toBe(0)
    expect((await dev('stop')).code).toBe(0)
  })

  test('does not start where another program took its port, and names the port', async () => {
    const { apiServer } = record().ports
    const intruder = await occupy(apiServer)
    try {
      const start = await dev('start')
      expect(start.code).toBe(1)
      expect(start.stderr.trim().split('\n')).toEqual([
        `fettle: port ${apiServer}, which kube-apiserver of cluster sleeper uses, is taken by another process: ` +
          'end that process, or make the cluster anew with `fettle dev down --name sleeper` and `up`',
      ])
    } finally {
      intruder.close()
    }
  })

  test('continues with its data and its nodes', async () => {
    const start = await dev('start')
    console.log(`dev start of a stopped cluster: ${start.seconds.toFixed(1)} s`)
    expect(start.code).toBe(0)
    expect((await kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.word}')).stdout).toBe('fettle')
    expect((await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=30s')).code).toBe(0)
  })
})

describe('a cluster that lost a component', () => {
  test('is degraded and names it; start repairs it and touches nothing else', async () => {
    const healthy = JSON.parse((await dev('status', '-o', 'json')).stdout)[0] as ClusterStatus
    const scheduler = healthy.components.find((component) => component.name === 'kube-scheduler')?.pid ?? 0
    process.kill(scheduler, 'SIGKILL')
    const status = await dev('status')
    expect(status.code).toBe(1)
    expect(status.stdout).toMatch(
      /^sleeper: degraded: kube-scheduler not running; `fettle dev start --name sleeper` starts what is missing\n/,
    )
    expect(status.stdout).toMatch(/kube-scheduler +not running/)
    expect((await dev('start')).code).toBe(0)
    const repaired = JSON.parse((await dev('status', '-o', 'json')).stdout)[0] as ClusterStatus
    expect(repaired.state).toBe('running')
    for (const [position, component] of repaired.components.entries())
      if (component.name === 'kube-scheduler') expect(component.pid).not.toBe(scheduler)
      else expect(component.pid).toBe(healthy.components[position]?.pid)
  })

  test('two that start it at the same moment get one of each', async () => {
    await dev('stop')
    const starts = await Promise.all([dev('start'), dev('start')])
    expect(starts.map(({ code, stderr }) => (code === 0 ? code : stderr))).toEqual([0, 0])
    expect(leftoversOf(home.path).processes).toHaveLength(5)
  })
})
