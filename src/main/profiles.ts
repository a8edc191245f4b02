import { hostname } from 'node:os'
import type { ControllerSettings } from '../cli/index.ts'
import {
  type ConnectedClient,
  EventRecorder,
  fencedClient,
  type KubeClient,
  type LeaderEvent,
  type LeaderTerm,
  type Lease,
  LeaseWitness,
  resources,
  runAsLeader,
  type SharedCaches,
} from '../kube/index.ts'
import {
  ConfigFile,
  InfoBoard,
  isFettle,
  leaseIdentity,
  OriginalElsewhere,
  originalLease,
  ProfileCounts,
  type ProfilesLog,
  plugins,
  problemText,
  runProfiles,
  type WorkloadObject,
} from '../profiles/index.ts'
import type { QueueViews, WindowViews } from '../queue/index.ts'
import type { ProfileFigures } from '../server/index.ts'
import { systemClock } from '../time/index.ts'
import { askLeader } from './leader-info.ts'
import { ProfilesTurn } from './profiles-turn.ts'

export interface ProfilesDoors {
  readonly client: ConnectedClient
  readonly caches: SharedCaches
  readonly views: QueueViews
  readonly windows: WindowViews
  readonly log: ProfilesLog
  readonly signal: AbortSignal
  readonly leader: {
    readonly isHere: () => boolean
    /** With which replicas ask each other. */
    readonly token: (() => Promise<string>) | undefined
  }
}

/** How often it is looked whether the original leads in another namespace. */
const lookElsewhereMs = 1_000

/** The profiles of a controller: every replica reads the file and answers, the leader acts. */
export class Profiles {
  readonly #settings: ControllerSettings
  readonly #doors: ProfilesDoors
  readonly #file: ConfigFile
  readonly #board = new InfoBoard()
  readonly #counts = new ProfileCounts()
  readonly #lease
  readonly #turn: ProfilesTurn
  readonly #elsewhere: OriginalElsewhere
  readonly #witness: LeaseWitness
  readonly #workloads

  constructor(path: string, settings: ControllerSettings, doors: ProfilesDoors) {
    const { caches, log, signal } = doors
    this.#settings = settings
    this.#doors = doors
    this.#lease = { namespace: settings.originalLeaseNamespace, name: originalLease }
    this.#turn = new ProfilesTurn(this.#lease, log)
    const leases = caches.of<Lease>({ resource: resources.leases, fieldSelector: `metadata.name=${originalLease}` })
    this.#elsewhere = new OriginalElsewhere(leases, settings.originalLeaseNamespace, systemClock)
    this.#witness = new LeaseWitness(leases, this.#lease, systemClock)
    this.#file = new ConfigFile(path, { plugins, clock: systemClock, env: () => process.env, signal })
    const cacheOf = (resource: (typeof resources)[keyof typeof resources]) =>
      caches.of<WorkloadObject>({ resource, trim: onlyWhatIsCounted })
    this.#workloads = {
      replicaSets: cacheOf(resources.replicaSets),
      deployments: cacheOf(resources.deployments),
      statefulSets: cacheOf(resources.statefulSets),
      daemonSets: doors.views.daemonSets,
    }
    const tell = () => {
      const { problems, isCurrent, config } = this.#file.state()
      for (const problem of problems) log.warn({ file: path }, problemText(path, problem))
      const profiles = [...(config?.profiles.keys() ?? [])]
      if (isCurrent) log.info({ file: path, profiles }, 'the file of profiles is in force')
      else log.warn({ file: path, profiles }, 'the file of profiles cannot be used; the last good one stays in force')
    }
    this.#file.subscribe(tell)
  }

  /** Sentences for the page that says whether the controller is ready. */
  problems(): readonly string[] {
    return [...this.#file.errors(), ...this.#turn.remarks()]
  }

  /** What the leader knows, whichever replica is asked. */
  async info(isForwarded: boolean): Promise<string> {
    const { client, leader } = this.#doors
    if (isForwarded || leader.isHere()) return JSON.stringify(this.#board.all())
    const { namespace, leaseName, httpPort: port } = this.#settings
    return askLeader({ client, namespace, leaseName, port, token: leader.token })
  }

  figures(): ProfileFigures {
    const { problems, isCurrent } = this.#file.state()
    return {
      ...this.#counts.all(),
      nodes: [...this.#board.states()],
      overdueDrains: [...this.#board.overdueDrains()],
      isActive: this.#turn.isActive,
      lease: originalLease,
      isFileCurrent: isCurrent,
      fileProblems: problems,
    }
  }

  /** While Fettle leads: but only while the original does not. Both leases are held as long as anything is done. */
  async run(term: LeaderTerm, signal: AbortSignal): Promise<void> {
    const { client } = this.#doors
    const { isDryRun } = this.#settings
    let aloneSinceMs = 0
    const fenced = fencedClient(client, term)
    // Beside the original, which keeps its lease: nothing is changed, so nobody has to stop for it.
    if (isDryRun) return await this.#act(fenced, signal, aloneSinceMs)
    const options = {
      // Not the fenced one: at the end of the term it could not give the lease back.
      client,
      clock: systemClock,
      random: Math.random,
      lease: this.#lease,
      identity: leaseIdentity(process.env['POD_NAME'] ?? hostname()),
      signal,
      // Both leases fall silent with a leader that dies, so both are waited for at once.
      witness: this.#witness,
      onEvent: (event: LeaderEvent) => {
        if (event.type === 'acquired' && event.before !== '' && !isFettle(event.before))
          aloneSinceMs = systemClock.now()
        this.#turn.note(event)
      },
    }
    try {
      await runAsLeader(options, (original) =>
        this.#actAlone(fencedClient(fenced, original), AbortSignal.any([signal, original.signal]), aloneSinceMs),
      )
    } finally {
      this.#turn.leave()
    }
  }

  /** An original in another namespace does not see the lease that is held here: as long as it leads, it is left alone. */
  async #actAlone(client: KubeClient, signal: AbortSignal, lastSinceMs: number): Promise<void> {
    let aloneSinceMs = lastSinceMs
    while (!signal.aborted) {
      const other = this.#elsewhere.find()
      if (other) {
        this.#turn.waitForOther(other)
        aloneSinceMs = systemClock.now()
        await systemClock.sleep(lookElsewhereMs, signal).catch(() => undefined)
        continue
      }
      this.#turn.begin()
      const over = new AbortController()
      const alone = AbortSignal.any([signal, over.signal])
      await Promise.all([
        this.#act(client, alone, aloneSinceMs).finally(() => over.abort()),
        this.#untilElsewhere(alone).finally(() => over.abort()),
      ])
    }
  }

  async #untilElsewhere(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#elsewhere.find())
      await systemClock.sleep(lookElsewhereMs, signal).catch(() => undefined)
  }

  async #act(client: KubeClient, signal: AbortSignal, aloneSinceMs: number): Promise<void> {
    const { log, views, windows } = this.#doors
    const recorder = this.#recorder(client)
    const ports = {
      client,
      clock: systemClock,
      random: Math.random,
      log,
      recorder,
      views,
      windows,
      workloads: this.#workloads,
      config: this.#file,
      board: this.#board,
      counts: this.#counts,
      aloneSinceMs,
      isDryRun: this.#settings.isDryRun,
    }
    try {
      await runProfiles(ports, signal)
    } finally {
      // From now on somebody else knows better.
      this.#board.forgetNodes()
      this.#counts.forgetNodes()
    }
    await recorder.stop(AbortSignal.timeout(2_000))
  }

  #recorder(client: KubeClient): EventRecorder {
    return new EventRecorder({
      client,
      clock: systemClock,
      random: Math.random,
      reportingController: 'maintenance',
      reportingInstance: this.#settings.identity,
      // A wave over thousands of nodes, three events each; they may come a little later than the states.
      bufferSize: 20_000,
      memorySize: 20_000,
      restMs: 10,
    })
  }
}

/** Who owns it, and how many pods it has. */
const onlyWhatIsCounted = ({ metadata, spec, status }: WorkloadObject): WorkloadObject => {
  const { name, namespace, uid, resourceVersion, ownerReferences } = metadata
  return {
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: spec?.replicas === undefined ? {} : { replicas: spec.replicas },
    status: status?.numberReady === undefined ? {} : { numberReady: status.numberReady },
  }
}
