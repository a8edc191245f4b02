import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fettle, startFettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'

const home = temporaryHome()
const name = 'wreck'
const recordPath = join(home.path, 'clusters', name, 'cluster.json')
const dev = (command: string, ...args: string[]) =>
  fettle(['dev', command, '--name', name, ...args], { home: home.path })
const before = leftoversOf(home.path)
const left = () => newSince(before, leftoversOf(home.path), name)
const runsEtcd = () => left().processes.some((process) => process.includes('etcd'))
afterAll(() => home.remove())

beforeEach(async () => {
  const up = startFettle(['dev', 'up', '--name', name, '--nodes', '3'], { home: home.path })
  await up.untilSaid('starting the control plane')
  // On a busy machine the first of them takes its time.
  for (let looks = 0; looks < 300 && !runsEtcd(); looks++) await sleep(100)
  await sleep(1_000)
  up.signal('SIGKILL')
  await up.finished
  expect(left().processes.length).toBeGreaterThan(0)
})

describe('after up was killed half-way', () => {
  test('up goes on where it was; down then removes all', async () => {
    const up = await dev('up', '--nodes', '3')
    expect(up.stderr).toContain('3 nodes are ready')
    expect(up.code).toBe(0)
    expect((await dev('down')).code).toBe(0)
    expect(left()).toEqual(nothing)
  })

  test('and its record is damaged or lost: status and up say so in a sentence, down removes all', async () => {
    for (const damage of ['{"name": "wreck", "po', '{}', 'null', undefined]) {
      if (damage === undefined) rmSync(recordPath)
      else writeFileSync(recordPath, damage)
      const status = await fettle(['dev', 'status'], { home: home.path })
      expect(status.code).toBe(1)
      expect(status.stdout).toBe(
        'wreck: broken: its record is missing or unreadable; remove it with `fettle dev down --name wreck`\n',
      )
      const up = await dev('up')
      expect(up.code).toBe(1)
      expect(up.stderr.trim().split('\n')).toHaveLength(1)
      expect(up.stderr).toContain('`fettle dev down --name wreck` removes')
    }
    const down = await dev('down')
    expect(down.stderr).toContain('cluster wreck is gone')
    expect(left()).toEqual(nothing)
  })

  test('and its folder was deleted by hand: down finds the processes', async () => {
    rmSync(join(home.path, 'clusters', name), { recursive: true, force: true })
    expect(left().processes.length).toBeGreaterThan(0)
    expect((await dev('down')).stderr).toContain('cluster wreck is gone')
    expect(left()).toEqual(nothing)
  })
})
