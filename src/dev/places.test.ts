import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clusterFolder, clusterNames, places } from './places.ts'

const user = { home: join(homedir(), '.local/state/fettle'), cache: join(homedir(), '.cache/fettle') }

describe('where things lie', () => {
  it.each([
    ['by default below the home folder', {}, user],
    [
      'where the desktop says',
      { XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/c' },
      { home: '/s/fettle', cache: '/c/fettle' },
    ],
    [
      'where our own variables say, before all others',
      { FETTLE_HOME: '/h', FETTLE_CACHE: '/f', XDG_STATE_HOME: '/s' },
      { home: '/h', cache: '/f' },
    ],
    [
      'as if unset when a variable is empty',
      { FETTLE_HOME: '', FETTLE_CACHE: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '' },
      user,
    ],
    [
      'at an absolute path even when told a relative one',
      { FETTLE_HOME: 'h', FETTLE_CACHE: './f/' },
      { home: resolve('h'), cache: resolve('f') },
    ],
  ])('%s', (_name, env, expected) => {
    expect(places(env)).toEqual(expected)
  })

  it.each(['a', 'dev', 'a-1', '0', 'x'.repeat(30)])('has a folder for the cluster %j', (name) => {
    expect(clusterFolder(name, { home: '/h', cache: '/c' })).toBe(`/h/clusters/${name}`)
  })

  it.each(['', '.', '..', 'a/b', '../a', 'A', 'a_b', '-a', 'a-', 'ä', 'x'.repeat(31), 'a\n'])(
    'refuses the name %j',
    (name) => {
      expect(() => clusterFolder(name, { home: '/h', cache: '/c' })).toThrow('is not a cluster name')
    },
  )
})

describe('the list of clusters', () => {
  let home = ''
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'fettle-places-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))

  it('is empty before the first one', () => {
    expect(clusterNames({ home, cache: '' })).toEqual([])
  })

  it('is sorted, and skips what someone else put there', () => {
    for (const name of ['b', 'a', 'Not A Cluster']) mkdirSync(join(home, 'clusters', name), { recursive: true })
    writeFileSync(join(home, 'clusters', '.hidden'), '')
    expect(clusterNames({ home, cache: '' })).toEqual(['a', 'b'])
  })
})
