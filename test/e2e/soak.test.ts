import { expect, test } from 'vitest'
import { connect, loadKubeconfig } from '../../src/kube/index.ts'
import { runSoak } from '../load/soak.ts'
import { withDevCluster } from '../support/dev-cluster.ts'

const minutes = 2

test('after two minutes of random faults with 500 nodes every cache equals the server', {
  timeout: 10 * 60_000,
}, async () => {
  const seed = Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`soak: seed ${seed}; repeat with: npm run soak -- --minutes ${minutes} --seed ${seed}`)
  const report = await withDevCluster({ name: `soak-${process.pid}` }, async (cluster) => {
    const watcher = connect(await loadKubeconfig({ path: cluster.proxiedKubeconfigPath }), { component: 'soak' })
    const mutator = connect(await loadKubeconfig({ path: cluster.kubeconfigPath }), { component: 'soak' })
    try {
      const log = () => undefined
      return await runSoak({ watcher, mutator, faults: cluster.proxy, minutes, seed, nodes: 500, log })
    } finally {
      watcher.close()
      mutator.close()
    }
  })
  const { problems, ...figures } = report
  console.log(`soak: ${JSON.stringify(figures)}`)
  expect(problems).toEqual([])
})
