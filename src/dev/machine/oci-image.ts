import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { type TarEntry, tarArchive } from './tar.ts'

/**
 * Writes container images without any container tool, as the archive that `ctr images import` reads. The same input
 * gives the same bytes.
 */
interface ImageSettings {
  /** Full name with tag: fettle.dev/pause:dev */
  readonly name: string
  readonly architecture: 'amd64' | 'arm64'
  readonly entrypoint: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly workingDir?: string
  /** Numeric `uid` or `uid:gid`. Default: root. */
  readonly user?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** One layer of given files on nothing. */
export interface ImageRecipe extends ImageSettings {
  readonly entries: readonly TarEntry[]
}

/** Layers from the bottom up. */
export interface LayeredImageRecipe extends ImageSettings {
  readonly layers: readonly ImageLayer[]
}

export interface ImageLayer {
  /** Digest of the archive before it was compressed: the same files have the same one, whatever compressed them. */
  readonly diffId: string
  readonly isCompressed: boolean
  readonly content: Buffer
}

interface Blob {
  readonly digest: string
  readonly content: Buffer
}

export function imageArchive(recipe: ImageRecipe): Buffer {
  // Not compressed: it is unpacked once, on the machine that wrote it.
  const content = tarArchive(recipe.entries)
  return layeredImage({ ...recipe, layers: [{ diffId: digestOf(content), isCompressed: false, content }] }).archive
}

export function compressedLayer(entries: readonly TarEntry[]): ImageLayer {
  const plain = tarArchive(entries)
  return { diffId: digestOf(plain), isCompressed: true, content: gzipSync(plain) }
}

/** The archive, and the digest that names the image. */
export function layeredImage(recipe: LayeredImageRecipe): { readonly archive: Buffer; readonly digest: string } {
  const layers = recipe.layers.map(({ content }) => blob(content))
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
      ...(recipe.labels ? { Labels: recipe.labels } : {}),
    },
    rootfs: { type: 'layers', diff_ids: recipe.layers.map(({ diffId }) => diffId) },
  })
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer, index) =>
      descriptor(
        `application/vnd.oci.image.layer.v1.tar${recipe.layers[index]?.isCompressed === true ? '+gzip' : ''}`,
        layer,
      ),
    ),
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
  const archive = tarArchive([
    { kind: 'file', path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', content: json(index) },
    ...[...layers, config, manifest].map(({ digest, content }) => ({
      kind: 'file' as const,
      path: `blobs/${digest.replace(':', '/')}`,
      content,
    })),
  ])
  return { archive, digest: manifest.digest }
}

export async function writeImageArchive(path: string, recipe: ImageRecipe): Promise<void> {
  await writeFile(path, imageArchive(recipe))
}

/** The name that images use for this machine's processor. */
export function imageArchitecture(arch: string = process.arch): 'amd64' | 'arm64' {
  return arch === 'arm64' ? 'arm64' : 'amd64'
}

function blob(content: Buffer): Blob {
  return { digest: digestOf(content), content }
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
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
