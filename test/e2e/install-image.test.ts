import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { run, runOk } from '../../src/host/index.ts'
import { temporaryFolder } from '../support/e2e-cluster.ts'
import { buildTestImage } from '../support/real-cluster.ts'

const hasDebootstrap = ['/usr/sbin', '/usr/bin', '/sbin'].some((folder) => existsSync(join(folder, 'debootstrap')))
const isRoot = process.getuid?.() === 0

async function jsonOf<T>(archive: string, path: string): Promise<T> {
  return JSON.parse((await runOk(['tar', '-xOf', archive, path])).stdout) as T
}

interface Index {
  readonly manifests: readonly { readonly digest: string }[]
}

interface ImageManifest {
  readonly config: { readonly digest: string }
  readonly layers: readonly { readonly digest: string; readonly mediaType: string }[]
}

describe.skipIf(!hasDebootstrap)('the image (needs debootstrap)', () => {
  test('is the same each time, small, and runs as nobody in particular', { timeout: 900_000 }, async (context) => {
    const archive = join(temporaryFolder(context), 'image.tar')
    const first = await buildTestImage(archive)
    const second = await buildTestImage(archive)
    expect(second).toEqual(first)
    expect(first.bytes).toBeLessThan(60e6)
    expect(first.layers.map(({ name }) => name)).toEqual(['debian', 'node', 'fettle'])
    const index = await jsonOf<Index>(archive, 'index.json')
    expect(index.manifests[0]?.digest).toBe(first.digest)
    const image = await jsonOf<ImageManifest>(archive, blobPath(first.digest))
    expect(await jsonOf(archive, blobPath(image.config.digest))).toMatchObject({
      os: 'linux',
      config: { User: '65532:65532', Entrypoint: ['/usr/local/bin/node', '/usr/lib/fettle/fettle.js'] },
    })
  })

  test.skipIf(!isRoot)('holds all that the program needs, and no shell (needs root for chroot)', async (context) => {
    const folder = temporaryFolder(context)
    const archive = join(folder, 'image.tar')
    const { digest } = await buildTestImage(archive)
    await runOk(['tar', '-xf', archive, '-C', folder])
    const { layers } = await jsonOf<ImageManifest>(archive, blobPath(digest))
    const root = join(folder, 'root')
    await runOk(['mkdir', root])
    for (const layer of layers) await runOk(['tar', '-xzf', join(folder, blobPath(layer.digest)), '-C', root])
    const inside = (...argv: string[]) => run(['chroot', '--userspec=65532:65532', root, ...argv])
    const fettle = await inside('/usr/local/bin/node', '/usr/lib/fettle/fettle.js', '--version')
    expect(fettle).toMatchObject({ code: 0, stdout: `${manifest.version}\n` })
    expect((await inside('/usr/local/bin/node', '--version')).stdout).toMatch(/^v24\./)
    for (const program of ['bin/sh', 'bin/bash', 'usr/bin/apt', 'usr/bin/dpkg'])
      expect(existsSync(join(root, program)), program).toBe(false)
  })
})

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}
