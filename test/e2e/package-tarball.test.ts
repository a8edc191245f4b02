import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { fettle, repository, temporaryHome } from '../support/fettle-process.ts'
import { leftoversOf } from '../support/leftovers.ts'

const home = temporaryHome()
const folder = mkdtempSync(join(tmpdir(), 'fettle-package-'))
const empty = join(folder, 'empty')
let files: string[] = []

beforeAll(async () => {
  // Scripts of packages that are installed never run here; our own, which makes the bundle, must.
  await execa('npm', ['pack', '--ignore-scripts=false', '--pack-destination', folder], { cwd: repository })
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const listed = await execa('tar', ['-tzf', join(folder, tarball)])
  files = listed.stdout.split('\n').map((path) => path.replace(/^package\//, ''))
  mkdirSync(empty)
  await execa('npm', ['install', '--offline', '--no-audit', join(folder, tarball)], { cwd: empty })
})
afterAll(async () => {
  await home.remove()
  rmSync(folder, { recursive: true, force: true })
})

const npx = (...args: string[]) =>
  fettle(args, { home: home.path, cwd: empty, program: ['npx', '--offline', 'fettle'] })
const installed = (...args: string[]) =>
  fettle(args, { home: home.path, cwd: empty, program: [join(empty, 'node_modules', '.bin', 'fettle')] })

describe('the tarball', () => {
  test('ships the bundle, what the embedded cluster is built from, and the papers', () => {
    for (const file of [
      'dist/fettle.js',
      'dist/fettle-sync.js',
      'bin/fettle.js',
      'cluster/go.mod',
      'cluster/go.sum',
      'cluster/control-plane/main.go',
      'cluster/node/main.go',
      'cluster/pause/main.go',
      'cluster/containerd/go.mod',
      'cluster/stages/node.yaml',
      'cluster/stages/pod.yaml',
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
    ])
      expect(files).toContain(file)
  })

  test('ships no sources, no tests and nothing that belongs to this checkout', () => {
    expect(files.filter((file) => /^(src|test|scripts|bench|node_modules|\.)/.test(file))).toEqual([])
    expect(files.filter((file) => /\.(ts|map|log|tgz)$/.test(file) && !file.endsWith('.d.ts'))).toEqual([])
    const bundle = readFileSync(join(empty, 'node_modules/fettle/dist/fettle.js'), 'utf8')
    expect(bundle).not.toContain(repository)
  })

  test('brings nothing else along', () => {
    const packages = readdirSync(join(empty, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(packages).toEqual(['fettle'])
    expect(manifest).not.toHaveProperty('dependencies')
  })

  test('is a kubectl plugin too', async () => {
    const plugin = join(empty, 'node_modules', '.bin', 'kubectl-fettle')
    expect(existsSync(plugin)).toBe(true)
    expect(await fettle(['--version'], { program: [plugin], cwd: empty })).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
    })
  })
})

describe('fettle from the tarball, in an empty folder', () => {
  test('says its version and that there is no cluster', async () => {
    expect(await npx('--version')).toMatchObject({ code: 0, stdout: `${manifest.version}\n` })
    expect(await npx('dev', 'status')).toMatchObject({ code: 0, stdout: 'no clusters; `fettle dev up` makes one\n' })
  })

  test('brings a cluster up and down without building anything again', async () => {
    const up = await installed('dev', 'up', '--nodes', '1')
    expect(up.stderr).not.toContain('building')
    expect(up.stderr).toContain('1 nodes are ready')
    expect(up.code).toBe(0)
    const nodes = await installed('dev', 'kubectl', '--', 'get', 'nodes', '-o', 'name')
    expect(nodes.stdout).toBe('node/node-1\n')
    expect((await installed('dev', 'down')).code).toBe(0)
    expect(leftoversOf(home.path)).toMatchObject({ processes: [], files: [] })
  })
})
