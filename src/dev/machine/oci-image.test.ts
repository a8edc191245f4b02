import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compressedLayer, type ImageRecipe, imageArchitecture, imageArchive, layeredImage } from './oci-image.ts'

const recipe: ImageRecipe = {
  name: 'fettle.dev/pause:dev',
  architecture: 'amd64',
  entries: [{ kind: 'file', path: 'pause', content: Buffer.from('program'), mode: 0o755 }],
  entrypoint: ['/pause'],
  environment: { A: 'b' },
  user: '65532',
}

/** Reads an archive back, independent of how it was written. */
function filesOf(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let offset = 0; archive[offset] !== 0; ) {
    const text = (start: number, length: number) =>
      archive.toString('latin1', offset + start, offset + start + length).split('\0')[0] ?? ''
    const size = Number.parseInt(text(124, 12), 8)
    if (text(156, 1) === '0') files.set(text(0, 100), archive.subarray(offset + 512, offset + 512 + size))
    offset += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

function read(files: Map<string, Buffer>, descriptor: { digest: string; size: number }): Buffer {
  const content = files.get(`blobs/${descriptor.digest.replace(':', '/')}`) ?? Buffer.alloc(0)
  expect(content.length).toBe(descriptor.size)
  expect(`sha256:${createHash('sha256').update(content).digest('hex')}`).toBe(descriptor.digest)
  return content
}

describe('an image archive', () => {
  it('leads from the index to the files by digests that are true', () => {
    const files = filesOf(imageArchive(recipe))
    const index = JSON.parse(String(files.get('index.json')))
    const manifest = JSON.parse(String(read(files, index.manifests[0])))
    const config = JSON.parse(String(read(files, manifest.config)))
    const layer = read(files, manifest.layers[0])
    expect(config.rootfs.diff_ids).toEqual([manifest.layers[0].digest])
    expect(filesOf(layer).get('pause')).toEqual(Buffer.from('program'))
    expect(config.config).toEqual({ Entrypoint: ['/pause'], Env: ['A=b'], User: '65532' })
    expect(index.manifests[0].annotations).toEqual({
      'io.containerd.image.name': 'fettle.dev/pause:dev',
      'org.opencontainers.image.ref.name': 'dev',
    })
  })

  it('stacks compressed layers, named by what is in them and by what was made of it', () => {
    const layers = ['below', 'above'].map((text) =>
      compressedLayer([{ kind: 'file', path: 'which', content: Buffer.from(text) }]),
    )
    const { archive, digest } = layeredImage({ ...recipe, layers, labels: { version: '1' } })
    const files = filesOf(archive)
    const index = JSON.parse(String(files.get('index.json')))
    expect(index.manifests[0].digest).toBe(digest)
    const manifest = JSON.parse(String(read(files, index.manifests[0])))
    const config = JSON.parse(String(read(files, manifest.config)))
    expect(config.config.Labels).toEqual({ version: '1' })
    for (const [position, text] of ['below', 'above'].entries()) {
      expect(manifest.layers[position].mediaType).toBe('application/vnd.oci.image.layer.v1.tar+gzip')
      const plain = gunzipSync(read(files, manifest.layers[position]))
      expect(`sha256:${createHash('sha256').update(plain).digest('hex')}`).toBe(config.rootfs.diff_ids[position])
      expect(filesOf(plain).get('which')).toEqual(Buffer.from(text))
    }
  })

  it('has the same bytes each time', () => {
    expect(imageArchive(recipe)).toEqual(imageArchive(recipe))
  })

  it.each([
    ['x64', 'amd64'],
    ['arm64', 'arm64'],
  ])('calls the processor %s %s', (arch, name) => {
    expect(imageArchitecture(arch)).toBe(name)
  })
})
