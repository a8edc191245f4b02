import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

/** Bundles the programs: one file each, nothing to install beside it. `--outdir` names another place than dist/. */
const { outdir } = parseArgs({ options: { outdir: { type: 'string', default: 'dist' } } }).values
await rm(outdir, { recursive: true, force: true })
await build({
  entryPoints: {
    fettle: 'src/main/cli.ts',
    'fettle-agent': 'src/main/agent-cli.ts',
    'fettle-controller': 'src/main/controller-cli.ts',
    'fettle-sync': 'src/main/sync-cli.ts',
  },
  outdir,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: false,
  legalComments: 'linked',
  logLevel: 'warning',
  // Bundled CommonJS packages call require() for Node's own modules; an ES module has none unless it makes one.
  banner: {
    js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
  },
})
await chmod(join(outdir, 'fettle.js'), 0o755)
