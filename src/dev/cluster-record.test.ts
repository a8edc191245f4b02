import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRecord, isFree, readRecord, writeRecord } from './cluster-record.ts'
import type { Places } from './places.ts'

let where: Places
beforeEach(() => {
  where = { home: mkdtempSync(join(tmpdir(), 'fettle-record-')), cache: '' }
})
afterEach(() => rmSync(where.home, { recursive: true, force: true }))

const create = (name: string) => createRecord(name, { nodeLeaseSeconds: 40 }, where)

describe('the record of a cluster', () => {
  it('is read as it was written, and by nobody else', async () => {
    const record = await create('a')
    expect(readRecord('a', where)).toEqual(record)
    writeRecord({ ...record, userKubeconfigs: ['/k'] })
    expect(readRecord('a', where)?.userKubeconfigs).toEqual(['/k'])
    expect(statSync(record.folder).mode & 0o077).toBe(0)
    expect(statSync(join(record.folder, 'cluster.json')).mode & 0o077).toBe(0)
  })

  it('gives clusters that are made at the same moment different ports and networks', async () => {
    const records = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(create))
    expect(new Set(records.flatMap(({ ports }) => Object.values(ports))).size).toBe(30)
    expect(new Set(records.map(({ index }) => index)).size).toBe(6)
  })

  it('stays clear of the ports that the kernel gives to outgoing connections', async () => {
    for (const port of Object.values((await create('a')).ports)) {
      expect(port).toBeGreaterThanOrEqual(20_000)
      expect(port).toBeLessThan(32_000)
    }
  })

  it('does not trip over a neighbour whose record is damaged', async () => {
    mkdirSync(join(where.home, 'clusters', 'bad'), { recursive: true })
    writeFileSync(join(where.home, 'clusters', 'bad', 'cluster.json'), '{')
    expect((await create('a')).name).toBe('a')
  })

  it('is absent before the cluster is made', () => {
    expect(readRecord('none', where)).toBeUndefined()
  })

  it.each(['', '{', 'null', '[]', '"a"', '{}', '{"name":"a","ports":{}}'])(
    'is refused in a sentence when it reads %j',
    async (text) => {
      const { folder } = await create('a')
      writeFileSync(join(folder, 'cluster.json'), text)
      expect(() => readRecord('a', where)).toThrow(
        'cannot be read; `fettle dev down --name a` removes the cluster whole',
      )
    },
  )
})

describe('a port', () => {
  it('is free until someone listens on it', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    expect(await isFree(port)).toBe(false)
    await new Promise((resolve) => server.close(resolve))
    expect(await isFree(port)).toBe(true)
  })
})
