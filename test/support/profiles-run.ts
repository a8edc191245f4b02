import { type EventRecorder, type KubeClient, resources, SharedCaches } from '../../src/kube/index.ts'
import {
  InfoBoard,
  loadConfig,
  ProfileCounts,
  type ProfilesConfig,
  type ProfilesLog,
  plugins,
  problemText,
  runProfiles,
  type WorkloadObject,
} from '../../src/profiles/index.ts'
import { openViews, openWindowViews, type QueueViews } from '../../src/queue/index.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'
import type { Ground, Test } from './e2e-cluster.ts'

/** Nothing runs there; only what lies in the controller's namespace would be looked for in it. */
const ownNamespace = 'fettle-system'

export interface ProfilesRunOptions {
  readonly client?: KubeClient
  /** Ends everything of this instance at once. */
  readonly signal?: AbortSignal
  readonly clock?: Clock
  /** What `${NAME}` in the file stands for. */
  readonly env?: Readonly<Record<string, string>>
  readonly isDryRun?: boolean
  /** Shows the profiles something else than what their caches hold. */
  readonly see?: (views: QueueViews) => QueueViews
  readonly log?: ProfilesLog
  readonly recorder?: Pick<EventRecorder, 'record'>
}

export interface RunningProfiles {
  /** What the info API would answer. */
  readonly board: InfoBoard
  readonly counts: ProfileCounts
  /** As if the file had been changed. */
  setFile(text: string): void
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>
  readonly ended: Promise<void>
}

/** The profiles of one controller in this process, on caches of its own, which believes that it leads. Ends with the test. */
export function startProfiles(
  test: Test,
  ground: Pick<Ground, 'admin' | 'signal'>,
  fileText: string,
  options: ProfilesRunOptions = {},
): RunningProfiles {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ground.signal, ...(options.signal ? [options.signal] : [])])
  const file = new GivenFile(fileText, options.env ?? {})
  const board = new InfoBoard()
  const counts = new ProfileCounts()
  const client = options.client ?? ground.admin
  const ended = runOne({ ...options, client, signal, file, board, counts })
  const running: RunningProfiles = {
    board,
    counts,
    ended,
    setFile: (text) => file.set(text),
    async stop() {
      stop.abort(new Error('stopped by the test'))
      await ended
    },
  }
  test.onTestFinished(() => running.stop())
  return running
}

interface OneRun extends ProfilesRunOptions {
  readonly client: KubeClient
  readonly signal: AbortSignal
  readonly file: GivenFile
  readonly board: InfoBoard
  readonly counts: ProfileCounts
}

async function runOne(run: OneRun): Promise<void> {
  const { client, signal, clock = systemClock } = run
  const caches = new SharedCaches({ client, signal })
  const views = openViews(caches)
  const windows = openWindowViews(caches, { client, namespace: ownNamespace, signal })
  const workloads = {
    replicaSets: caches.of<WorkloadObject>({ resource: resources.replicaSets }),
    deployments: caches.of<WorkloadObject>({ resource: resources.deployments }),
    statefulSets: caches.of<WorkloadObject>({ resource: resources.statefulSets }),
    daemonSets: views.daemonSets,
  }
  try {
    await caches.waitForSync(signal)
    await runProfiles(
      {
        client,
        clock,
        random: Math.random,
        log: run.log ?? { info: () => undefined, warn: () => undefined },
        recorder: run.recorder ?? { record: () => undefined },
        views: run.see?.(views) ?? views,
        windows,
        workloads,
        config: run.file,
        board: run.board,
        counts: run.counts,
        aloneSinceMs: 0,
        isDryRun: run.isDryRun ?? false,
      },
      signal,
    )
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Stands for the file on disk: a text that is wrong fails the test at once. */
class GivenFile {
  readonly #env: Readonly<Record<string, string>>
  readonly #listeners = new Set<() => void>()
  #config: ProfilesConfig

  constructor(text: string, env: Readonly<Record<string, string>>) {
    this.#env = env
    this.#config = this.#read(text)
  }

  current(): ProfilesConfig {
    return this.#config
  }

  subscribe(wake: () => void): () => void {
    this.#listeners.add(wake)
    return () => void this.#listeners.delete(wake)
  }

  set(text: string): void {
    this.#config = this.#read(text)
    for (const wake of this.#listeners) wake()
  }

  #read(text: string): ProfilesConfig {
    const { config, problems } = loadConfig(text, { env: this.#env, plugins })
    if (!config) throw new Error(problems.map((problem) => problemText('maintenance.yaml', problem)).join('\n'))
    return config
  }
}
