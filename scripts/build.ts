import { chmod, rm } from 'node:fs/promises'
import { build } from 'esbuild'

/** Bundles the programs: one file each, nothing to install beside it. */
await rm('dist', { recursive: true, force: true })
await build({
  entryPoints: { fettle: 'src/main/cli.ts' },
  outdir: 'dist',
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
await chmod('dist/fettle.js', 0o755)
