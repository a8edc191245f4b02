import { parseArgs } from 'node:util'
import { progressOn } from '../src/cli/progress.ts'
import { imageArchitecture } from '../src/dev/machine/oci-image.ts'
import { places } from '../src/dev/places.ts'
import { buildImage } from './image/build-image.ts'

/**
 * Builds the container image without a container engine, a registry or root: `npx tsx scripts/image.ts`.
 * Prints the image's name, digest and size.
 */
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    tag: { type: 'string', default: 'dev' },
    arch: { type: 'string', default: imageArchitecture() },
    fresh: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

if (values.help) console.log(help())
else await build()

async function build(): Promise<void> {
  const { arch, tag, fresh } = values
  if (arch !== 'amd64' && arch !== 'arm64') throw new RangeError(`--arch ${arch}: write amd64 or arm64`)
  if (!/^\w[\w.-]{0,127}$/.test(tag)) throw new RangeError(`--tag ${tag} is not a tag: letters, digits, dots, dashes`)
  const out = values.out ?? `dist/fettle-${tag}-${arch}.tar`
  const progress = progressOn(process.stderr, () => Date.now())
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')))
  const image = await buildImage({
    out,
    tag,
    architecture: arch,
    isFresh: fresh,
    cacheDir: places().cache,
    log: (line) => progress.update(line),
    signal: stop.signal,
  })
  progress.done(`${image.name} for ${arch} is ${megabytes(image.bytes)} in ${out}`)
  for (const layer of image.layers) console.error(`      ${layer.name.padEnd(7)} ${megabytes(layer.bytes)}`)
  console.log(`${image.name}@${image.digest}`)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function help(): string {
  return `Usage: npx tsx scripts/image.ts [options]

  --out FILE   where the OCI archive goes (default dist/fettle-TAG-ARCH.tar)
  --tag TAG    tag of fettle.dev/fettle (default dev)
  --arch ARCH  amd64 or arm64 (default this machine's); nothing of it is run, so any builds the other
  --fresh      fetch Debian packages and Node again instead of taking them from the cache`
}
