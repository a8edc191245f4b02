import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endProcess, type ProcessIdentity, startDetached } from '../host/index.ts'
import { markedEnvironment, runningComponents } from './components.ts'

let folder = ''
const started: ProcessIdentity[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-components-'))
})
afterEach(async () => {
  for (const identity of started.splice(0)) await endProcess(identity)
  rmSync(folder, { recursive: true, force: true })
})

async function start(cluster: string, component: string): Promise<ProcessIdentity> {
  const identity = await startDetached(['sleep', '60'], {
    logPath: join(folder, 'log'),
    env: markedEnvironment(cluster, component),
  })
  started.push(identity)
  return identity
}

describe('what runs for a cluster', () => {
  it('is found in the process table by the mark it carries, and by nothing else', async () => {
    const mine = join(folder, 'a')
    const identity = await start(mine, 'etcd')
    await start(join(folder, 'a-b'), 'etcd')
    await start(folder, 'kwok')
    expect(runningComponents(mine)).toEqual([{ component: 'etcd', identity }])
  })

  it('is gone as soon as the process is', async () => {
    const identity = await start(folder, 'etcd')
    await endProcess(identity)
    expect(runningComponents(folder)).toEqual([])
  })
})
