import { parseArgs } from 'node:util'
import { connect, type KubeObject, loadKubeconfig, resources } from '../../src/kube/index.ts'
// The only place where the schedules meet the embedded cluster.
import { withDevCluster } from '../support/dev-cluster.ts'
import { installCrds, listOf } from '../support/queue-cluster.ts'
import { runExclusivity } from './exclusivity.ts'

const { values } = parseArgs({ options: { schedules: { type: 'string', default: '10000' }, seed: { type: 'string' } } })
const schedules = Number(values.schedules)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 20) : Number(values.seed)
if (!(schedules > 0 && Number.isInteger(seed))) {
  console.error('usage: npm run exclusivity -- --schedules 10000 [--seed N]')
  process.exit(2)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`got ${signal}`)))
console.log(`seed ${seed}; repeat with: npm run exclusivity -- --schedules ${schedules} --seed ${seed}`)
const startedAt = Date.now()
const report = await withDevCluster({ name: `exclusivity-${process.pid}`, simulatedNodes: 6 }, async (cluster) => {
  const admin = connect(await loadKubeconfig({ path: cluster.kubeconfigPath }), { component: 'exclusivity' })
  try {
    await installCrds(admin)
    const found = await listOf<KubeObject>(admin, resources.nodes)
    const nodes = found.map(({ metadata }) => metadata.name ?? '')
    const log = (line: string) => console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  ${line}`)
    return await runExclusivity({ admin, seed, schedules, nodes, log, signal: stop.signal })
  } finally {
    admin.close()
  }
})
console.log(JSON.stringify(report, undefined, 2))
process.exitCode = report.problems.length === 0 ? 0 : 1
