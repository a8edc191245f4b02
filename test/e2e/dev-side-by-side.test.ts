import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClusterRecord, type ClusterStatus, readRecord } from '../../src/dev/index.ts'
import { type FettleResult, fettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf } from '../support/leftovers.ts'
import { isListening } from '../support/ports.ts'

const home = temporaryHome()
const dev = (...args: string[]) => fettle(['dev', ...args], { home: home.path })
const statuses = async () => JSON.parse((await dev('status', '-o', 'json')).stdout) as ClusterStatus[]
let ups: FettleResult[]
let records: ClusterRecord[]

beforeAll(async () => {
  // All at once, and one of them twice: two people, or a person and a script.
  const names = ['alpha', 'beta', 'beta']
  ups = await Promise.all(names.map((name) => dev('up', '--name', name, '--nodes', '1')))
  records = ['alpha', 'beta'].flatMap((name) => readRecord(name, { home: home.path, cache: '' }) ?? [])
})
afterAll(() => home.remove())

test('clusters that start at the same moment all come up, on ports and networks of their own', async () => {
  expect(ups.map(({ code, stderr }) => (code === 0 ? code : stderr))).toEqual([0, 0, 0])
  const ports = records.flatMap((record) => Object.values(record.ports))
  expect(new Set(ports).size).toBe(10)
  expect(new Set(records.map(({ index }) => index)).size).toBe(2)
  expect((await statuses()).map(({ name, state }) => [name, state])).toEqual([
    ['alpha', 'running'],
    ['beta', 'running'],
  ])
})

test('two that bring up the same cluster share one', () => {
  const components = leftoversOf(home.path).processes.filter((process) => process.includes('control-plane'))
  expect(components).toHaveLength(10)
})

test('the end of one leaves the other as it was', async () => {
  const before = (await statuses()).find(({ name }) => name === 'beta')
  expect((await dev('down', '--name', 'alpha')).code).toBe(0)
  const [left, ...others] = await statuses()
  expect(others).toEqual([])
  expect(left).toMatchObject({ name: 'beta', state: 'running', nodes: { ready: 1, total: 1 } })
  expect(left?.components.map(({ pid }) => pid)).toEqual(before?.components.map(({ pid }) => pid))
  for (const port of Object.values(records[0]?.ports ?? {})) expect(await isListening(port), `port ${port}`).toBe(false)
  for (const port of Object.values(records[1]?.ports ?? {})) expect(await isListening(port), `port ${port}`).toBe(true)
})
