import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { ClusterStatus } from '../../src/dev/index.ts'
import { type FettleResult, fettle, fromSources, temporaryHome } from '../support/fettle-process.ts'

const home = temporaryHome()
const name = 'fresh'
const userKubeconfig = join(home.path, 'mine.yaml')
const dev = (...args: string[]) => fettle(['dev', ...args], { home: home.path })
const kubectl = (...args: string[]) => dev('kubectl', '--name', name, '--', ...args)
let up: FettleResult

const mine = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'production',
  clusters: [{ name: 'production', cluster: { server: 'https://production.example:6443' } }],
  users: [{ name: 'me', user: { token: 'not-yours' } }],
  contexts: [{ name: 'production', context: { cluster: 'production', user: 'me', namespace: 'shop' } }],
}

beforeAll(async () => {
  writeFileSync(userKubeconfig, JSON.stringify(mine))
  // As people name files: relative to where they are, which is elsewhere when they take the cluster down.
  up = await fettle(['dev', 'up', '--name', name, '--nodes', '4', '--kubeconfig', 'mine.yaml'], {
    home: home.path,
    cwd: home.path,
    program: fromSources,
  })
})
afterAll(() => home.remove())

describe('a new cluster with everything built', () => {
  test('is ready within seconds, and says where its kubeconfig is', async () => {
    console.log(`dev up of a new cluster: ready in ${up.seconds.toFixed(1)} s`)
    expect(up.stderr).toContain('4 nodes are ready')
    expect(up.code).toBe(0)
    expect(up.stdout).toBe(`export KUBECONFIG=${join(home.path, 'clusters', name, 'kubeconfig')}\n`)
    // 15 s is the promise on an idle machine; a test machine is not idle.
    expect(up.seconds).toBeLessThan(60)
  })

  test('takes pods from the first moment', async () => {
    const pod = await kubectl('run', 'first', '--image=none.invalid/nothing')
    expect(pod.stderr).toBe('')
    expect(pod.code).toBe(0)
  })

  test('shows its state as text without colours in a pipe, and the same as JSON', async () => {
    const text = await dev('status', '--name', name)
    expect(text.code).toBe(0)
    expect(text.stdout).not.toContain('\u001b')
    expect(text.stdout).toContain(`${name}: running\n`)
    expect(text.stdout).toContain('nodes       4 of 4 ready (4 simulated, 0 real)')
    const json = await dev('status', '-o', 'json')
    const [status, ...others] = JSON.parse(json.stdout) as ClusterStatus[]
    expect(others).toEqual([])
    expect(status).toMatchObject({ name, state: 'running', message: '', nodes: { ready: 4, total: 4 } })
    for (const { name: component, pid, memoryMiB } of status?.components ?? []) {
      expect(pid, component).toBeGreaterThan(1)
      expect(memoryMiB, component).toBeGreaterThan(10)
      expect(text.stdout).toContain(`pid ${pid}`)
    }
    expect(status?.components.map((component) => component.name)).toEqual([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kwok',
    ])
  })

  test('deals its nodes out to the zones', async () => {
    const listed = await kubectl(
      'get',
      'nodes',
      '--output=jsonpath={.items[*].metadata.labels.topology\\.kubernetes\\.io/zone}',
    )
    expect(listed.stdout.split(' ').sort()).toEqual(['zone-a', 'zone-a', 'zone-b', 'zone-c'])
  })

  test("passes kubectl's output and exit code through", async () => {
    const nodes = await kubectl('get', 'nodes', '--no-headers')
    expect(nodes.code).toBe(0)
    expect(nodes.stdout.trim().split('\n')).toHaveLength(4)
    const wrong = await kubectl('get', 'unicorns')
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toBe('error: the server doesn\'t have a resource type "unicorns"\n')
  })

  test('prints the log of a component, or the end of it', async () => {
    const whole = await dev('logs', 'kube-apiserver', '--name', name)
    const end = await dev('logs', 'kube-apiserver', '--name', name, '--tail', '5')
    expect(end.stdout.trimEnd().split('\n')).toHaveLength(5)
    expect(whole.stdout.split('\n').length).toBeGreaterThan(6)
  })

  test('keeps keys and kubeconfigs from other users of the machine', () => {
    const folder = join(home.path, 'clusters', name)
    for (const file of ['.', 'kubeconfig', 'kwok.kubeconfig', 'certificates/ca.key', 'logs/kube-apiserver.log'])
      expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0)
  })

  test('is in the kubeconfig that was named, beside what was there', async () => {
    const merged = parse(readFileSync(userKubeconfig, 'utf8'))
    expect(merged.clusters).toContainEqual(mine.clusters[0])
    expect(merged.users).toContainEqual(mine.users[0])
    expect(merged.contexts).toContainEqual(mine.contexts[0])
    expect(merged['current-context']).toBe(`fettle-dev-${name}`)
    const asked = await kubectl('--kubeconfig', userKubeconfig, 'get', 'nodes', '--no-headers')
    expect(asked.stdout.trim().split('\n')).toHaveLength(4)
  })
})

describe('up, a second time', () => {
  test('adds only what is missing, and is quick', async () => {
    const before = JSON.parse((await dev('status', '-o', 'json')).stdout) as ClusterStatus[]
    const again = await dev('up', '--name', name, '--nodes', '6')
    expect(again.stderr).toContain('6 nodes are ready')
    expect(again.code).toBe(0)
    expect(again.seconds).toBeLessThan(40)
    const after = JSON.parse((await dev('status', '-o', 'json')).stdout) as ClusterStatus[]
    expect(after[0]?.components.map(({ pid }) => pid)).toEqual(before[0]?.components.map(({ pid }) => pid))
    expect(after[0]?.nodes).toEqual({ ready: 6, total: 6, simulated: 6, real: 0 })
  })

  test('never removes nodes', async () => {
    expect((await dev('up', '--name', name, '--nodes', '1')).code).toBe(0)
    expect((await kubectl('get', 'nodes', '--no-headers')).stdout.trim().split('\n')).toHaveLength(6)
  })

  test('leaves the cluster alone when the kubeconfig that was named cannot be read', async () => {
    const broken = join(home.path, 'broken.yaml')
    writeFileSync(broken, 'clusters: [')
    const refused = await dev('up', '--name', name, '--kubeconfig', broken)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(broken)
    expect(refused.stderr).not.toMatch(/^\s+at /m)
    expect(readFileSync(broken, 'utf8')).toBe('clusters: [')
    expect((await dev('status', '--name', name)).code).toBe(0)
  })

  test('adds its context to a second kubeconfig, in a folder that does not exist yet', async () => {
    const second = join(home.path, 'new', 'folder', 'config')
    expect((await dev('up', '--name', name, '--kubeconfig', second)).code).toBe(0)
    expect(parse(readFileSync(second, 'utf8')).contexts).toHaveLength(1)
  })
})

describe('down', () => {
  test('takes its own context out of every kubeconfig, and leaves all else in them as it was', async () => {
    const down = await dev('down', '--name', name)
    expect(down.code).toBe(0)
    expect(down.stderr).toContain(`cluster ${name} is gone`)
    const left = parse(readFileSync(userKubeconfig, 'utf8'))
    expect({ ...left, 'current-context': 'production', preferences: undefined }).toEqual({
      ...mine,
      preferences: undefined,
    })
    expect(left['current-context'] ?? '').not.toContain('fettle')
    expect(readFileSync(join(home.path, 'new', 'folder', 'config'), 'utf8')).not.toContain('fettle-dev')
  })

  test('of a cluster that is gone is no error, and says so', async () => {
    const again = await dev('down', '--name', name)
    expect(again).toMatchObject({ code: 0, stderr: `there is no cluster named ${name}; nothing to do\n` })
    expect((await dev('status')).stdout).toBe('no clusters; `fettle dev up` makes one\n')
  })
})
