import { parseArgs } from 'node:util'
import { connect, loadKubeconfig } from '../../src/kube/index.ts'
// The only place where the soak meets the embedded cluster.
import { withDevCluster } from '../support/dev-cluster.ts'
import { runSoak } from './soak.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string' },
    nodes: { type: 'string', default: '500' },
  },
})
const minutes = Number(values.minutes)
const nodes = Number(values.nodes)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
if (!(minutes > 0 && nodes > 0 && Number.isInteger(seed))) {
  console.error('usage: npm run soak -- --minutes 30 [--nodes 500] [--seed N]')
  process.exit(2)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`got ${signal}`)))
const startedAt = Date.now()
const log = (line: string) => console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  ${line}`)

console.log(`seed ${seed}; repeat with: npm run soak -- --minutes ${minutes} --nodes ${nodes} --seed ${seed}`)
const report = await withDevCluster({ name: `soak-${process.pid}` }, async (cluster) => {
  const watcher = connect(await loadKubeconfig({ path: cluster.proxiedKubeconfigPath }), { component: 'soak-watcher' })
  const mutator = connect(await loadKubeconfig({ path: cluster.kubeconfigPath }), { component: 'soak-mutator' })
  try {
    return await runSoak({ watcher, mutator, faults: cluster.proxy, minutes, seed, nodes, log, signal: stop.signal })
  } finally {
    watcher.close()
    mutator.close()
  }
})
console.log(JSON.stringify(report, undefined, 2))
for (const problem of report.problems) console.error(`problem: ${problem}`)
process.exitCode = report.problems.length === 0 ? 0 : 1
