import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { type TarEntry, tarArchive } from './tar.ts'

/**
 * Writes container images without any container tool: one layer of given files on nothing, as the archive that
 * `ctr images import` reads. The same input gives the same bytes.
 */
export interface ImageRecipe {
  /** Full name with tag: fettle.dev/pause:dev */
  readonly name: string
  readonly architecture: 'amd64' | 'arm64'
  readonly entries: readonly TarEntry[]
  readonly entrypoint: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly workingDir?: string
  /** Numeric `uid` or `uid:gid`. Default: root. */
  readonly user?: string
}

interface Blob {
  readonly digest: string
  readonly content: Buffer
}

export function imageArchive(recipe: ImageRecipe): Buffer {
  const layer = blob(tarArchive(recipe.entries))
  const config = jsonBlob({
    architecture: recipe.architecture,
    os: 'linux',
    config: {
      Entrypoint: recipe.entrypoint,
      ...(recipe.environment
        ? { Env: Object.entries(recipe.environment).map(([name, value]) => `${name}=${value}`) }
        : {}),
      ...(recipe.workingDir ? { WorkingDir: recipe.workingDir } : {}),
      ...(recipe.user ? { User: recipe.user } : {}),
    },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  })
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    // Not compressed: it is unpacked once, on the machine that wrote it.
    layers: [descriptor('application/vnd.oci.image.layer.v1.tar', layer)],
  })
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        platform: { architecture: recipe.architecture, os: 'linux' },
        annotations: {
          'io.containerd.image.name': recipe.name,
          'org.opencontainers.image.ref.name': recipe.name.slice(recipe.name.lastIndexOf(':') + 1),
        },
      },
    ],
  }
  return tarArchive([
    { kind: 'file', path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', content: json(index) },
    ...[layer, config, manifest].map(({ digest, content }) => ({
      kind: 'file' as const,
      path: `blobs/${digest.replace(':', '/')}`,
      content,
    })),
  ])
}

export async function writeImageArchive(path: string, recipe: ImageRecipe): Promise<void> {
  await writeFile(path, imageArchive(recipe))
}

/** The name that images use for this machine's processor. */
export function imageArchitecture(arch: string = process.arch): 'amd64' | 'arm64' {
  return arch === 'arm64' ? 'arm64' : 'amd64'
}

function blob(content: Buffer): Blob {
  return { digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, content }
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function jsonBlob(value: unknown): Blob {
  return blob(json(value))
}

function descriptor(mediaType: string, { digest, content }: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest, size: content.length }
}
