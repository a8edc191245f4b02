import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
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
      config: {
        User: '65532:65532',
        Entrypoint: ['/usr/local/bin/node', '/usr/lib/fettle/fettle.js'],
        Env: expect.arrayContaining(['NODE_USE_SYSTEM_CA=1']) as string[],
      },
    })
  })

  test.skipIf(!isRoot)('holds all that the program needs, and no shell (needs root for chroot)', async (context) => {
    const { root, inside } = await unpacked(context)
    const fettle = await inside(['/usr/local/bin/node', '/usr/lib/fettle/fettle.js', '--version'])
    expect(fettle).toMatchObject({ code: 0, stdout: `${manifest.version}\n` })
    expect((await inside(['/usr/local/bin/node', '--version'])).stdout).toMatch(/^v24\./)
    for (const program of ['bin/sh', 'bin/bash', 'usr/bin/apt', 'usr/bin/dpkg'])
      expect(existsSync(join(root, program)), program).toBe(false)
  })

  test.skipIf(!isRoot)(
    'has a Node that can be told to ask through a proxy (needs root for chroot)',
    async (context) => {
      const { inside } = await unpacked(context)
      const asked: (string | undefined)[] = []
      const proxy = createServer().on('connect', ({ url }, socket) => {
        asked.push(url)
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      context.onTestFinished(() => void proxy.close())
      const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      // As `src/main/env-proxy.ts` does it.
      const obey = "(await import('node:http')).setGlobalProxyFromEnv(process.env)"
      const ask = "for (const url of ['https://a.invalid/', 'https://b.svc/']) await fetch(url).catch(() => undefined)"
      const env = { HTTPS_PROXY, NO_PROXY: '.svc' }
      const node = await inside(['/usr/local/bin/node', '--input-type=module', '--eval', `${obey}; ${ask}`], env)
      expect(node).toMatchObject({ code: 0, stderr: '' })
      expect(asked).toEqual(['a.invalid:443'])
    },
  )
})

async function unpacked(context: TestContext) {
  const folder = temporaryFolder(context)
  const archive = join(folder, 'image.tar')
  const { digest } = await buildTestImage(archive)
  await runOk(['tar', '-xf', archive, '-C', folder])
  const { config, layers } = await jsonOf<ImageManifest>(archive, blobPath(digest))
  const root = join(folder, 'root')
  await runOk(['mkdir', root])
  for (const layer of layers) await runOk(['tar', '-xzf', join(folder, blobPath(layer.digest)), '-C', root])
  const { config: settings } = await jsonOf<{ readonly config: { readonly Env: readonly string[] } }>(
    archive,
    blobPath(config.digest),
  )
  // Nothing of this machine's own environment. The PATH is not the image's, because chroot itself is found by it.
  const own = settings.Env.filter((line) => !line.startsWith('PATH='))
  const inside = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const variables = [`PATH=${process.env['PATH']}`, ...own, ...Object.entries(env).map((pair) => pair.join('='))]
    return run(['env', '-i', ...variables, 'chroot', '--userspec=65532:65532', root, ...argv])
  }
  return { root, inside }
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}
