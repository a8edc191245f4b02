import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt } from '../src/dev/build.ts'
import { controlPlaneProgram, type DevReport, missingForRealNodes, places, prepareMachines } from '../src/dev/index.ts'
import { imageArchitecture } from '../src/dev/machine/oci-image.ts'
import { buildImage } from './image/build-image.ts'
import { prometheusProgram, unpackPrometheus } from './prometheus.ts'

/** Fills the cache with everything that end-to-end tests use, so that no test has to wait for a compiler. */
let lastAt = 0
const report: DevReport = {
  working: (text) => {
    if (Date.now() - lastAt < 15_000) return
    lastAt = Date.now()
    console.log(`   … ${text}`)
  },
  finished: (text) => console.log(`   ✓ ${text}`),
}

await controlPlaneProgram(report, places())
report.finished('control plane')
await ensureBuilt('helm', places(), ({ done, total }) =>
  report.working(`building helm once: ${done} of about ${total} packages`),
)
report.finished('helm')
if (prometheusProgram(places().cache)) {
  await unpackPrometheus(places().cache)
  report.finished('Prometheus')
} else console.log('   no Prometheus here, so tests of alerts are skipped: install it, or run on Debian')
const missing = await missingForRealNodes()
if (missing.length === 0) {
  await prepareMachines(report)
  report.finished('machines for real nodes')
} else console.log(`   no real nodes here: ${missing.join(' ')}`)
const folder = mkdtempSync(join(tmpdir(), 'fettle-image-'))
try {
  await buildImage({
    out: join(folder, 'image.tar'),
    tag: 'dev',
    architecture: imageArchitecture(),
    isFresh: false,
    cacheDir: places().cache,
    log: report.working,
    signal: new AbortController().signal,
  })
  report.finished('image')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
