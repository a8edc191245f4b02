import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adminKubeconfig, bringUp, connectTo, controlPlaneProgram, places, takeDown } from '../src/dev/index.ts'
import { runOk } from '../src/host/index.ts'
import { type KubeClient, type KubeObject, resources } from '../src/kube/index.ts'
import { type Bench, type BenchOptions, type Metrics, medians, ratios } from './bench.ts'
import { cpuSecondsOf, peakRssMiBOf } from './process-figures.ts'

const clusterName = 'bench-sync'
/** The share of objects that the last case takes out of git. */
const removedShare = 0.1

/** One program that makes a namespace equal to a folder under git, as a command that starts, works and ends. */
interface Contender {
  readonly argv: (folder: string, namespace: string, removed: number) => readonly string[]
}

/**
 * Objects that git declares come into being, stay as they are, change in one place, and a tenth of them goes; each case
 * is one process from its start to its end, which for removals is when all are gone. Requests are counted at the server.
 */
export const syncBench: Bench = async (options) => {
  const objects = options.numbers['objects'] ?? 1_000
  const report = { working: options.log, finished: options.log }
  const folder = mkdtempSync(join(tmpdir(), 'fettle-bench-'))
  await takeDown(clusterName, report)
  try {
    await runOk([process.execPath, 'node_modules/.bin/tsx', 'scripts/build.ts', '--outdir', join(folder, 'dist')])
    const record = await bringUp(
      {
        name: clusterName,
        simulatedNodes: 0,
        zones: 1,
        realNodes: 0,
        components: ['etcd', 'kube-apiserver', 'kube-controller-manager'],
      },
      report,
    )
    const client = await connectTo(record)
    const kubeconfig = adminKubeconfig(record)
    try {
      const ours = oursContender(join(folder, 'dist/fettle-sync.js'), kubeconfig)
      const growth: Record<string, Metrics> = {}
      for (const share of [0.25, 0.5]) {
        const alone = new Map([['ours', ours]])
        const some = Math.round(objects * share)
        growth[String(share)] =
          (await measureInTurn(client, alone, folder, some, { ...options, runs: 1 }))['ours'] ?? {}
      }
      const contenders = new Map([['ours', ours]])
      for (const { name, path } of options.peers) contenders.set(name, await peerContender(name, path, kubeconfig))
      const { ours: mine = {}, ...peers } = await measureInTurn(client, contenders, folder, objects, options)
      return {
        bench: 'sync',
        work: {
          objects,
          removed: Math.round(objects * removedShare),
          runs: options.runs,
          seconds: 'of one process, start-up included',
          requests: 'as the server counts them, watches apart',
        },
        ours: mine,
        floor: { createSeconds: await createOnly(client, objects) },
        peers,
        ratios: ratios(mine, peers),
        growth: { '0.25': growth['0.25'] ?? {}, '0.5': growth['0.5'] ?? {}, '1': mine },
      }
    } finally {
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
    rmSync(folder, { recursive: true, force: true })
  }
}

function oursContender(program: string, kubeconfig: string): Contender {
  return {
    argv: (folder, namespace, removed) => [
      ...[process.execPath, program, 'sync', 'run', '--once', '--yes', '--kubeconfig', kubeconfig],
      ...['--url', folder, '--namespace', namespace, ...(removed > 0 ? ['--allow-deletes', String(removed)] : [])],
    ],
  }
}

const silent = { working: () => undefined, finished: () => undefined }

async function peerContender(name: string, path: string, kubeconfig: string): Promise<Contender> {
  if (name === 'kubectl') {
    const kubectl = path === 'auto' ? [await controlPlaneProgram(silent, places()), 'kubectl'] : [path]
    return {
      argv: (folder, namespace) => [
        ...['env', 'KUBECTL_APPLYSET=true', ...kubectl, '--kubeconfig', kubeconfig, 'apply', '--server-side'],
        ...[
          '--prune',
          `--applyset=secret/peer`,
          '--namespace',
          namespace,
          '-f',
          join(folder, 'manifests'),
          '--recursive',
        ],
      ],
    }
  }
  if (name === 'kapp')
    return {
      argv: (folder, namespace) => [
        ...[path, 'deploy', '--yes', '--app', 'peer', '--namespace', namespace, '--kubeconfig', kubeconfig],
        ...['--file', join(folder, 'manifests')],
      ],
    }
  throw new Error(`--peer: kubectl and kapp can do this here, not '${name}'`)
}

let count = 0

/** One run of each, again and again: whoever always came last would meet the fullest server. */
async function measureInTurn(
  client: KubeClient,
  contenders: ReadonlyMap<string, Contender>,
  folder: string,
  objects: number,
  { runs, log }: BenchOptions,
): Promise<Readonly<Record<string, Metrics>>> {
  const measured = new Map([...contenders.keys()].map((name) => [name, [] as Metrics[]]))
  for (let run = 0; run < runs; run++)
    for (const [name, contender] of contenders) {
      const namespace = `${name}-${++count}`
      await client.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
      const metrics = await runOnce(client, contender, join(folder, namespace), namespace, objects)
      log(`${name}, ${objects} objects, run ${run + 1}: ${JSON.stringify(metrics)}`)
      measured.get(name)?.push(metrics)
    }
  return Object.fromEntries([...measured].map(([name, all]) => [name, medians(all)]))
}

async function runOnce(
  client: KubeClient,
  contender: Contender,
  folder: string,
  namespace: string,
  objects: number,
): Promise<Metrics> {
  const manifests = join(folder, 'manifests')
  mkdirSync(manifests, { recursive: true })
  const git = (...args: readonly string[]) =>
    runOk(['git', '-C', folder, '-c', 'user.name=b', '-c', 'user.email=b@example.org', ...args])
  await git('init', '--quiet', '--initial-branch=main')
  const commit = async () => {
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'bench')
  }
  const fileOf = (index: number) => join(manifests, `settings-${index}.yaml`)
  for (let index = 0; index < objects; index++) writeFileSync(fileOf(index), manifest(namespace, index, 'one'))
  await commit()
  const removed = Math.round(objects * removedShare)
  const create = await timed(client, contender.argv(folder, namespace, 0))
  await expectCount(client, namespace, objects)
  const unchanged = await timed(client, contender.argv(folder, namespace, 0))
  writeFileSync(fileOf(0), manifest(namespace, 0, 'two'))
  await commit()
  const oneChanged = await timed(client, contender.argv(folder, namespace, 0))
  for (let index = 1; index <= removed; index++) rmSync(fileOf(index))
  await commit()
  const remove = await timed(client, contender.argv(folder, namespace, removed))
  await expectCount(client, namespace, objects - removed)
  return {
    createSeconds: create.seconds,
    unchangedSeconds: unchanged.seconds,
    oneChangedSeconds: oneChanged.seconds,
    removedSeconds: remove.seconds,
    createRequests: create.requests,
    unchangedRequests: unchanged.requests,
    oneChangedRequests: oneChanged.requests,
    removedRequests: remove.requests,
    cpuSeconds: create.cpuSeconds,
    rssMiB: Math.max(create.rssMiB, unchanged.rssMiB, remove.rssMiB),
  }
}

function manifest(namespace: string, index: number, text: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-${index}
  namespace: ${namespace}
  labels: {app: bench}
data:
  text: ${text}
  number: "${index}"
`
}

/** A process from its start to its end. */
async function timed(client: KubeClient, [command = '', ...args]: readonly string[]) {
  const before = await requestsSoFar(client)
  const startedMs = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(-2_000)
  })
  const figures = followFigures(child.pid ?? 0)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const seconds = (performance.now() - startedMs) / 1_000
  if (code !== 0) throw new Error(`${command} ${args.slice(0, 4).join(' ')} … ended with ${code}: ${said}`)
  return { seconds, ...figures.stop(), requests: (await requestsSoFar(client)) - before - 1 }
}

/** The last that is seen of a process before it ends. */
function followFigures(pid: number) {
  let last = { cpuSeconds: 0, rssMiB: 0 }
  const look = () => {
    try {
      const rssMiB = peakRssMiBOf(pid)
      // One that has ended and was not yet looked after has no memory any more.
      if (Number.isFinite(rssMiB)) last = { cpuSeconds: cpuSecondsOf(pid), rssMiB }
    } catch {
      // It has ended since.
    }
  }
  const timer = setInterval(look, 10)
  return {
    stop: () => {
      clearInterval(timer)
      return last
    },
  }
}

/** As the API server itself counts them; watches are counted when they end, so they are left out. */
async function requestsSoFar(client: KubeClient): Promise<number> {
  const text = await client.request<string>({ method: 'GET', path: '/metrics' })
  return text
    .split('\n')
    .filter(
      (line) =>
        /^apiserver_request_total\{/.test(line) &&
        !/verb="WATCH"/.test(line) &&
        !/resource="(leases|events)"/.test(line),
    )
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function expectCount(client: KubeClient, namespace: string, wanted: number): Promise<void> {
  let found = 0
  for await (const { items } of client.list<KubeObject>(resources.configMaps, {
    namespace,
    labelSelector: 'app=bench',
  }))
    found += items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length
  if (found !== wanted) throw new Error(`${found} objects are in ${namespace}, not ${wanted}`)
}

/** The bare requests: objects made by a loop that decides nothing. */
async function createOnly(client: KubeClient, objects: number): Promise<number> {
  const namespace = `floor-${++count}`
  await client.create<KubeObject>(resources.namespaces, { metadata: { name: namespace } })
  const startedMs = performance.now()
  let next = 0
  const worker = async () => {
    while (next < objects) {
      const index = next++
      const object = { metadata: { name: `settings-${index}`, namespace }, data: { text: 'one', number: `${index}` } }
      await client.apply(resources.configMaps, object as KubeObject, { fieldManager: 'bench' })
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  return (performance.now() - startedMs) / 1_000
}
