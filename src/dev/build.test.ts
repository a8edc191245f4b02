import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureBuilt, kubernetesVersion, sourceHash } from './build.ts'
import { packageFolder } from './places.ts'

const sources = join(packageFolder(), 'cluster')
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-build-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the name that a build has in the cache', () => {
  const hashes = (from: string) => ({
    plane: sourceHash(from, 'control-plane'),
    node: sourceHash(from, 'node'),
    containerd: sourceHash(from, 'containerd'),
  })

  it('is the same wherever the sources lie, so a packed copy finds what a checkout built', () => {
    cpSync(sources, join(folder, 'elsewhere'), { recursive: true })
    expect(hashes(join(folder, 'elsewhere'))).toEqual(hashes(sources))
  })

  it.each([
    ['our program', 'control-plane/main.go', { plane: false, node: true, containerd: true }],
    ['a new program file', 'control-plane/new.go', { plane: false, node: true, containerd: true }],
    ['the versions of libraries', 'go.sum', { plane: false, node: false, containerd: true }],
    ['the versions of the runtime', 'containerd/go.mod', { plane: true, node: true, containerd: false }],
    ['a stage, which is read when it runs', 'stages/pod.yaml', { plane: true, node: true, containerd: true }],
  ])('changes with %s, for the programs made of it only', (_what, file, same) => {
    cpSync(sources, folder, { recursive: true })
    const [before, path] = [hashes(folder), join(folder, file)]
    writeFileSync(path, file === 'control-plane/new.go' ? 'package main\n' : `${readFileSync(path, 'utf8')}\n`)
    const after = hashes(folder)
    expect({
      plane: after.plane === before.plane,
      node: after.node === before.node,
      containerd: after.containerd === before.containerd,
    }).toEqual(same)
  })
})

describe('a build', () => {
  it('is not made again when the cache has it', async () => {
    const name = `pause-${sourceHash(sources, 'pause')}`
    mkdirSync(join(folder, 'programs', name), { recursive: true })
    const progress: unknown[] = []
    const built = await ensureBuilt('pause', { home: '', cache: folder }, (step) => progress.push(step))
    expect(built).toBe(join(folder, 'programs', name))
    expect(progress).toEqual([])
  })

  it('stamps the version of Kubernetes that go.mod names', () => {
    expect(kubernetesVersion(readFileSync(join(sources, 'go.mod'), 'utf8'))).toMatch(/^v1\.36\.\d+$/)
    expect(kubernetesVersion('require (\n\tk8s.io/kubernetes v1.40.2\n)')).toBe('v1.40.2')
    expect(() => kubernetesVersion('k8s.io/kubernetes-csi v1.0.0')).toThrow('names no version')
  })
})
