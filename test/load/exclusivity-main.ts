import { parseArgs } from 'node:util'
import { connect, type KubeObject, loadKubeconfig, resources } from '../../src/kube/index.ts'
// The only place where the schedules meet the embedded cluster.
import { withDevCluster } from '../support/dev-cluster.ts'
import { installCrds, listOf } from '../support/queue-cluster.ts'
import { type ExclusivityReport, runExclusivity, sumOf } from './exclusivity.ts'

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    // Most of a schedule is waiting: on two cores two clusters are done in little more than half of the time.
    clusters: { type: 'string', default: '1' },
  },
})
const schedules = Number(values.schedules)
const clusters = Number(values.clusters)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 20) : Number(values.seed)
if (!(schedules > 0 && Number.isInteger(seed) && clusters > 0 && Number.isInteger(schedules / clusters))) {
  console.error('usage: npm run exclusivity -- --schedules 10000 [--seed N] [--clusters N], as many for each cluster')
  process.exit(2)
}

const names = Array.from({ length: clusters }, (_, index) => `exclusivity-${process.pid}-${index + 1}`)
const stop = new AbortController()
// One Ctrl-C is heard several times, because npm hands on what it got; so none after the first may end the process before
// its cluster is down. Nor may a terminal that is gone. (Under `tsx` it would be killed when it does not answer a signal
// within 60 ms, which is why the script in package.json is `node --import tsx`.)
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const onSignal = (signal: NodeJS.Signals) => {
  if (stop.signal.aborted) return
  stop.abort(new Error(`got ${signal}`))
  const downs = names.map((name) => `npx fettle dev down --name ${name}`).join('; ')
  console.error(`got ${signal}: taking the cluster down; should that fail: ${downs}`)
}
for (const signal of signals) process.on(signal, onSignal)
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

// Memory is there; garbage collection is a good part of what an API server does with two cores.
process.env['GOGC'] ??= '400'
console.log(
  `seed ${seed}; repeat with: npm run exclusivity -- --schedules ${schedules} --seed ${seed} --clusters ${clusters}`,
)
const startedAt = Date.now()
let failure: unknown
const running = names.map((name, index) =>
  onCluster(name, seed + index).catch((error: unknown) => {
    // What the others do is of no use any more.
    failure ??= stop.signal.aborted ? undefined : error
    stop.abort(error)
  }),
)
const reports = (await Promise.all(running)).flatMap((report) => report ?? [])
for (const signal of signals) process.off(signal, onSignal)
if (failure) throw failure
if (stop.signal.aborted) process.exitCode = 130
else {
  const report = sumOf(reports)
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = report.problems.length === 0 ? 0 : 1
}

async function onCluster(name: string, ownSeed: number): Promise<ExclusivityReport> {
  return withDevCluster({ name, simulatedNodes: 6 }, async (cluster) => {
    const admin = connect(await loadKubeconfig({ path: cluster.kubeconfigPath }), { component: 'exclusivity' })
    try {
      stop.signal.throwIfAborted()
      await installCrds(admin)
      const found = await listOf<KubeObject>(admin, resources.nodes)
      const nodes = found.map(({ metadata }) => metadata.name ?? '')
      const log = (line: string) =>
        console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  seed ${ownSeed}: ${line}`)
      return await runExclusivity({
        admin,
        seed: ownSeed,
        schedules: schedules / clusters,
        nodes,
        log,
        signal: stop.signal,
      })
    } finally {
      admin.close()
    }
  })
}
