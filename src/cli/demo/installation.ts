import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { budgetName, customResourceDefinitions, type MaintenanceBudget, maintenanceBudgets } from '../../api/index.ts'
import { endProcess, startDetached } from '../../host/index.ts'
import { isNotFound, type KubeClient, type KubeObject, resources } from '../../kube/index.ts'

const manager = 'fettle-demo'

/** The kinds and a budget of two nodes; the controller itself runs as a process of this machine. */
export async function installForDemo(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions())
    await client.apply(resources.customResourceDefinitions, definition as unknown as KubeObject, {
      fieldManager: manager,
      force: true,
    })
  await client.create<KubeObject>(resources.namespaces, { metadata: { name: 'fettle-system' } })
  // Says that nobody led before, so that the first leader need not wait out a lease.
  await client.create<KubeObject>(resources.leases, {
    metadata: {
      name: 'fettle-controller',
      namespace: 'fettle-system',
      annotations: { 'fettle.dev/released-token': '0' },
    },
  })
  const budget = {
    metadata: { name: budgetName },
    spec: { max: 2, timing: { minReadySeconds: 1 } },
  } as unknown as MaintenanceBudget
  // A kind is served a moment after its definition is stored.
  for (let attempt = 0; ; attempt++) {
    try {
      await client.apply(maintenanceBudgets, budget, { fieldManager: manager })
      return
    } catch (error) {
      if (!isNotFound(error) || attempt > 50) throw error
      await sleep(100)
    }
  }
}

/** The same program that runs in a cluster, with the same arguments. */
export async function startControllerProcess(kubeconfig: string): Promise<{ stop(): Promise<void> }> {
  const program = process.argv[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'fettle-demo-'))
  const identity = await startDetached(
    [process.execPath, program, 'controller', '--kubeconfig', kubeconfig, '--http-port', '0', '--lease-seconds', '10'],
    // With the cluster's marks, so that `fettle dev down` ends it too, whatever happens to this process.
    {
      logPath: join(folder, 'controller.log'),
      env: { FETTLE_DEV_CLUSTER: dirname(kubeconfig), FETTLE_DEV_COMPONENT: 'controller' },
    },
  )
  return {
    async stop() {
      await endProcess(identity, { graceMs: 5_000 })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
