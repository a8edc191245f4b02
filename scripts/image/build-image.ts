import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { compressedLayer, type ImageLayer, layeredImage } from '../../src/dev/machine/oci-image.ts'
import type { TarEntry } from '../../src/dev/machine/tar.ts'
import { runOk } from '../../src/host/index.ts'
import { baseLayer } from './base-layer.ts'
import type { LayerOptions } from './layer-cache.ts'
import { nodeLayer, nodeProgram, nodeVersion } from './node-layer.ts'

export interface BuildImageOptions extends LayerOptions {
  /** Where the archive goes. */
  readonly out: string
  readonly tag: string
}

export interface BuiltImage {
  readonly name: string
  readonly digest: string
  readonly bytes: number
  readonly layers: readonly { readonly name: string; readonly bytes: number }[]
}

const root = resolve(import.meta.dirname, '../..')
const folder = '/usr/lib/fettle'

/** SSL_CERT_FILE and SSL_CERT_DIR, which programs in Go obey unasked, are obeyed by Node only when it is told to. */
const asElsewhere = { NODE_USE_SYSTEM_CA: '1' }

/** Three layers, from what changes least to what changes most: Debian's libraries, Node, the program. */
export async function buildImage(options: BuildImageOptions): Promise<BuiltImage> {
  const layers = {
    debian: await baseLayer(options),
    node: await nodeLayer(options),
    fettle: await appLayer(options),
  }
  const name = `fettle.dev/fettle:${options.tag}`
  const { archive, digest } = layeredImage({
    name,
    architecture: options.architecture,
    layers: Object.values(layers),
    entrypoint: [nodeProgram, `${folder}/fettle.js`],
    environment: {
      PATH: `${dirname(nodeProgram)}:/usr/bin`,
      NODE_ENV: 'production',
      NODE_VERSION: nodeVersion,
      ...asElsewhere,
    },
    workingDir: '/',
    user: '65532:65532',
    labels: {
      'org.opencontainers.image.title': 'fettle',
      'org.opencontainers.image.description': manifest.description,
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.licenses': manifest.license,
    },
  })
  await mkdir(dirname(resolve(options.out)), { recursive: true })
  const part = `${options.out}.${process.pid}.part`
  await writeFile(part, archive)
  await rename(part, options.out)
  return {
    name,
    digest,
    bytes: archive.length,
    layers: Object.entries(layers).map(([layer, { content }]) => ({ name: layer, bytes: content.length })),
  }
}

async function appLayer({ log, signal }: LayerOptions): Promise<ImageLayer> {
  log('bundling the program')
  const scratch = await mkdtemp(join(tmpdir(), 'fettle-image-'))
  try {
    await runOk([process.execPath, join(root, 'node_modules/.bin/tsx'), 'scripts/build.ts', '--outdir', scratch], {
      cwd: root,
      ...(signal ? { signal } : {}),
    })
    // A bundle that does not start is found out here, not by a cluster.
    await runOk([process.execPath, join(scratch, 'fettle.js'), '--version'])
    // Licences of bundled libraries lie beside the program, if there are any.
    const bundled: TarEntry[] = []
    for (const file of await readdir(scratch))
      bundled.push({ kind: 'file', path: `${folder}/${file}`, content: await readFile(join(scratch, file)) })
    const { name, version, license, type } = manifest
    return compressedLayer([
      ...bundled,
      // Where people mount certificates of their own; Node complains if it is not there.
      { kind: 'folder', path: 'etc/ssl/certs' },
      { kind: 'file', path: `${folder}/LICENSE`, content: await readFile(join(root, 'LICENSE')) },
      {
        kind: 'file',
        path: `${folder}/package.json`,
        content: Buffer.from(`${JSON.stringify({ name, version, license, type }, null, 2)}\n`),
      },
    ])
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
