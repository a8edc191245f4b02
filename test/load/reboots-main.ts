import { parseArgs } from 'node:util'
import { bringUpRealCluster } from '../support/real-cluster.ts'
import { runReboots } from './reboots.ts'

const { values } = parseArgs({ options: { count: { type: 'string', default: '20' } } })
const count = Number(values.count)
if (!(Number.isInteger(count) && count > 0 && count <= 1000)) {
  console.error('usage: npm run reboots -- --count 20')
  process.exit(2)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`got ${signal}`)))
const image = 'fettle.dev/fettle:e2e'
const startedAt = Date.now()
const log = (line: string) => console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  ${line}`)
const cluster = await bringUpRealCluster(`reboots-${process.pid}`, 0, 3)
try {
  const installed = await cluster.fettle('install', '--image', image, `--agent-arg=--max-reboots-per-day=${count}`)
  if (installed.code !== 0) throw new Error(`Fettle could not be installed: ${installed.stderr}`)
  log('Fettle runs on three real nodes')
  const report = await runReboots({ cluster, image, count, signal: stop.signal, log })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = report.problems.length === 0 ? 0 : 1
} finally {
  await cluster.remove()
}
