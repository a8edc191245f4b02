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

const name = `exclusivity-${process.pid}`
const stop = new AbortController()
// One Ctrl-C is heard several times, because npm hands on what it got; so none after the first may end the process before
// its cluster is down. Nor may a terminal that is gone. (Under `tsx` it would be killed when it does not answer a signal
// within 60 ms, which is why the script in package.json is `node --import tsx`.)
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const onSignal = (signal: NodeJS.Signals) => {
  if (stop.signal.aborted) return
  stop.abort(new Error(`got ${signal}`))
  console.error(`got ${signal}: taking the cluster down; should that fail: npx fettle dev down --name ${name}`)
}
for (const signal of signals) process.on(signal, onSignal)
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

// Memory is there; garbage collection is a good part of what an API server does with two cores.
process.env['GOGC'] ??= '400'
console.log(`seed ${seed}; repeat with: npm run exclusivity -- --schedules ${schedules} --seed ${seed}`)
const startedAt = Date.now()
try {
  const report = await withDevCluster({ name, simulatedNodes: 6 }, async (cluster) => {
    const admin = connect(await loadKubeconfig({ path: cluster.kubeconfigPath }), { component: 'exclusivity' })
    try {
      stop.signal.throwIfAborted()
      await installCrds(admin)
      const found = await listOf<KubeObject>(admin, resources.nodes)
      const nodes = found.map(({ metadata }) => metadata.name ?? '')
      const log = (line: string) =>
        console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  ${line}`)
      return await runExclusivity({ admin, seed, schedules, nodes, log, signal: stop.signal })
    } finally {
      admin.close()
    }
  })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = report.problems.length === 0 ? 0 : 1
} catch (error) {
  if (!stop.signal.aborted) throw error
  process.exitCode = 130
} finally {
  for (const signal of signals) process.off(signal, onSignal)
}
