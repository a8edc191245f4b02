import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { apiReference } from './generate/api-reference.ts'
import { chartFiles } from './generate/chart.ts'
import { cliReference } from './generate/cli-reference.ts'
import { customResourceManifests } from './generate/crds.ts'
import { errorReference } from './generate/error-reference.ts'
import { jsonSchemas } from './generate/json-schemas.ts'
import { metricReference } from './generate/metric-reference.ts'
import { pluginReference } from './generate/plugin-reference.ts'
import { rbacReference } from './generate/rbac-reference.ts'

/** Everything that is generated and committed. `--check` writes nothing and fails on a difference. */
const files: Readonly<Record<string, () => string>> = {
  'docs/reference/api.md': apiReference,
  'docs/reference/cli.md': cliReference,
  'docs/reference/errors.md': errorReference,
  'docs/reference/metrics.md': metricReference,
  'docs/reference/profile-plugins.md': pluginReference,
  'docs/reference/rbac.md': rbacReference,
  ...customResourceManifests(),
  ...chartFiles(),
  ...jsonSchemas(),
}

const check = process.argv.includes('--check')
for (const [path, generate] of Object.entries(files)) {
  const text = generate()
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  if (check) {
    console.error(`${path} is not what its generator makes: run \`npm run generate\` and commit the result`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(`wrote ${path}`)
  }
}
