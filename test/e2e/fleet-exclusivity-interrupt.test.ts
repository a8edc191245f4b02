import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually } from '../support/e2e-cluster.ts'
import { startFettle, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf, newSince, nothing } from '../support/leftovers.ts'
import { patient } from '../support/queue-cluster.ts'

test('a run of its own, ended by Ctrl-C, takes its cluster down', async () => {
  const home = temporaryHome()
  try {
    const before = leftoversOf(home.path)
    const program = ['npm', 'run', 'exclusivity', '--']
    const running = startFettle(['--schedules', '10000', '--seed', '1'], { home: home.path, program })
    await running.untilSaid('6 nodes are ready')
    await sleep(2_000)
    running.signal('SIGINT', 'group')
    await running.finished
    expect(running.said()).toContain('got SIGINT: taking the cluster down')
    // npm itself may end before what it started.
    await eventually(() => expect(newSince(before, leftoversOf(home.path), 'exclusivity')).toEqual(nothing), patient)
    expect(clustersIn(home.path)).toEqual([])
  } finally {
    await home.remove()
  }
})

function clustersIn(home: string): string[] {
  const folder = join(home, 'clusters')
  return existsSync(folder) ? readdirSync(folder) : []
}
