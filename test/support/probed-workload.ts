import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectedClient, type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { eventually } from './e2e-cluster.ts'
import { follow, patiently } from './real-host.ts'

/** Three pods that answer on real connections, of which one at a time may be missing. */
export interface ProbedWorkload {
  /** What was seen until now. */
  seen(): Availability
  stop(): Promise<Availability>
}

export interface Availability {
  readonly looks: number
  /** The fewest pods that answered at one look. */
  readonly lowest: number
  readonly promised: number
}

interface PodWithAddress extends PodObject {
  readonly status?: PodObject['status'] & { readonly podIP?: string }
}

const replicas = 3
const everyMs = 100
/** Longer than a busy machine takes to answer; a pod that is gone refuses at once, or its address is not known any more. */
const answerWithinMs = 3_000
const port = 8080
const meta = { name: 'probed', namespace: 'default' }
const labels = { app: 'probed' }
/** Node as the first process of a container hears no signal that it does not ask for. */
const program = `require('node:http').createServer((_, answer) => answer.end('up')).listen(${port})
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 300))`

/** Runs the pods, each on a node of its own while there are enough, and asks all of them ten times a second. */
export async function runProbedWorkload(admin: ConnectedClient, image: string): Promise<ProbedWorkload> {
  await admin.create<KubeObject>(resources.deployments, deployment(image))
  await admin.create<KubeObject>(resources.podDisruptionBudgets, {
    metadata: meta,
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  } as KubeObject)
  const addresses = new Map<string, string>()
  const pods = follow<PodWithAddress>(
    admin,
    resources.pods,
    ({ metadata: { uid = '' }, status }, isGone) => {
      if (isGone || !status?.podIP) addresses.delete(uid)
      else addresses.set(uid, status.podIP)
    },
    { namespace: meta.namespace, labelSelector: `app=${labels.app}` },
  )
  const countAnswers = async () => {
    const answers = await Promise.all([...addresses.values()].map(answers200))
    return answers.filter(Boolean).length
  }
  await eventually(async () => {
    if ((await countAnswers()) < replicas) throw new Error(`not all of ${replicas} pods answer`)
  }, patiently)

  const figures = { looks: 0, lowest: replicas, promised: replicas - 1 }
  const end = new AbortController()
  const looks: Promise<void>[] = []
  const probing = (async () => {
    while (!end.signal.aborted) {
      // Not one after the other: who waits for an answer must not miss what happens meanwhile.
      looks.push(
        countAnswers().then((count) => {
          figures.looks++
          figures.lowest = Math.min(figures.lowest, count)
        }),
      )
      await sleep(everyMs)
    }
  })()
  return {
    seen: () => ({ ...figures }),
    async stop() {
      end.abort()
      await probing
      await Promise.all(looks)
      await pods.stop()
      for (const resource of [resources.podDisruptionBudgets, resources.deployments])
        await admin.delete(resource, meta, { uid: 'any' })
      return figures
    },
  }
}

function answers200(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get({ host: address, port, agent: false, timeout: answerWithinMs }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode === 200))
      answer.on('error', () => resolve(false))
    })
    asked.on('error', () => resolve(false))
    asked.on('timeout', () => asked.destroy(new Error('no answer')))
  })
}

function deployment(image: string): KubeObject {
  return {
    metadata: meta,
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 5,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'Never',
              command: ['/usr/local/bin/node', '-e', program],
              readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  } as KubeObject
}
