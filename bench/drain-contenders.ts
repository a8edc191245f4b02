import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { customResourceDefinitions, type MaintenanceRequest, maintenanceRequests } from '../src/api/index.ts'
import { controlPlaneProgram, places } from '../src/dev/index.ts'
import { isNotFound, type KubeClient, type KubeObject, type NodeObject, resources } from '../src/kube/index.ts'
import { target } from './drain-pods.ts'

/** Makes the pods of the node leave; resolves when it has nothing more to do. */
export interface Contender {
  drain(): Promise<void>
  /** Makes the node schedulable again. */
  giveBack(): Promise<void>
}

/** The controller as a process of its own, and a request as a person makes it. */
export async function oursContender(
  client: KubeClient,
  kubeconfig: string,
): Promise<Contender & { stop(): Promise<void> }> {
  for (const definition of customResourceDefinitions())
    await client.apply(resources.customResourceDefinitions, definition as KubeObject, { fieldManager: 'bench' })
  await client.create<KubeObject>(resources.namespaces, { metadata: { name: 'fettle-system' } })
  const program = join(import.meta.dirname, '../bin/fettle.js')
  const args = [program, 'controller', '--kubeconfig', kubeconfig, '--http-port', '0', '--log-level', 'warn']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const closed = once(child, 'close')
  const ended = new AbortController()
  child.once('exit', (code) => ended.abort(new Error(`the controller has ended with ${code}`)))
  let count = 0
  // Watched instead of asked for: questions would take the API server's time, which is what is measured.
  const until = async (phase: string) => {
    const name = `${target}-bench-${count}`
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(300_000)])
    for await (const event of client.watch<MaintenanceRequest>(maintenanceRequests, { signal }))
      if (event.type !== 'BOOKMARK' && event.object.metadata.name === name && event.object.status?.phase === phase)
        return
    throw new Error(`${name} did not become ${phase}`)
  }
  return {
    async drain() {
      count++
      const { metadata } = await client.get<NodeObject>(resources.nodes, { name: target })
      await client.create(maintenanceRequests, {
        metadata: { name: `${target}-bench-${count}` },
        spec: {
          nodeName: target,
          nodeUID: metadata.uid,
          source: { kind: 'Person', key: `bench-${count}` },
          reason: 'bench',
          work: 'External',
        },
      } as KubeObject)
      await until('Granted')
    },
    async giveBack() {
      const ref = { name: `${target}-bench-${count}` }
      await client.patch(maintenanceRequests, ref, { type: 'merge', body: { spec: { want: 'Return' } } })
      await until('Done')
    },
    async stop() {
      child.kill('SIGTERM')
      await closed
    },
  }
}

/** `kubectl drain`; the path `auto` is the kubectl of the embedded cluster. */
export async function kubectlContender(client: KubeClient, path: string, kubeconfig: string): Promise<Contender> {
  const report = { working: () => undefined, finished: () => undefined }
  const program = path === 'auto' ? [await controlPlaneProgram(report, places()), 'kubectl'] : [path]
  const kubectl = async (...args: string[]) => {
    const [command = '', ...rest] = [...program, '--kubeconfig', kubeconfig, ...args]
    const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${said.slice(-2_000)}`)
  }
  await client.get(resources.nodes, { name: target }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new Error(`there is no node ${target}`)
  })
  return {
    drain: () => kubectl('drain', target, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=280s'),
    giveBack: () => kubectl('uncordon', target),
  }
}
