import { expect } from 'vitest'
import type { NodeObject } from '../../kube/index.ts'
import { loadConfig } from '../config/load.ts'
import type { Registry } from '../config/registry.ts'
import { optional, required } from '../fields.ts'
import { nodeOf, noon, passOf } from '../fixture-pass.ts'
import { dataAnnotation, profileLabel, type State, stateLabel } from '../names.ts'
import type { Check, Notifier, Plugin, Schedule, Trigger } from '../plugin.ts'
import { checkPlugins } from '../plugins/check/index.ts'
import { triggerPlugins } from '../plugins/trigger/index.ts'
import { readData } from './data.ts'
import type { Sent } from './notices.ts'
import { type Pass, type PassPorts, passOver } from './pass.ts'

/** One node and the plugins of a file that a test can turn: nothing else is needed to see a node go its way. */
export class Machine {
  /** Checks that pass; a check that is named `broken-…` here cannot tell. */
  readonly on = new Set<string>()
  readonly broken = new Set<string>()
  /** Checks that ask somebody far away who does not answer. */
  readonly deaf = new Set<string>()
  /** Triggers that are not done yet. */
  readonly busy = new Set<string>()
  /** What ran, in order. */
  readonly ran: string[] = []
  readonly taken: string[] = []
  /** When the last trigger that ran had begun. */
  sinceMs = 0
  nowMs = noon
  node: NodeObject
  whyNot: string | undefined
  sent: readonly Sent[] = []
  readonly #config: NonNullable<ReturnType<typeof loadConfig>['config']>

  constructor(file: string, { label, node }: { readonly label?: string; readonly node?: NodeObject } = {}) {
    const { config, problems } = loadConfig(`intervals: {requeue: 1s}\n${file}`, { env: {}, plugins: this.#plugins() })
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    if (!config) throw new Error('the file of this test cannot be read')
    this.#config = config
    this.node = node ?? nodeOf('n1', { labels: label === undefined ? {} : { [profileLabel]: label } })
  }

  /** One pass, and what it wants written is written. */
  async pass(ports: Partial<PassPorts> = {}): Promise<Pass> {
    this.nowMs += 1_000
    const { cluster, doors, signal } = passOf({ node: this.node })
    const pass = await passOver(this.node, {
      config: this.#config,
      cluster,
      doors,
      signal,
      nowMs: this.nowMs,
      sent: this.sent,
      aloneSinceMs: 0,
      isDryRun: false,
      whyNot: () => this.whyNot,
      admit: () => Promise.resolve(undefined),
      ...ports,
    })
    this.sent = []
    if (pass.patch) this.node = merged(this.node, pass.patch)
    return pass
  }

  async passes(count: number): Promise<void> {
    for (let index = 0; index < count; index++) await this.pass()
  }

  state(profile: string): string | undefined {
    const read = readData(this.node.metadata.annotations?.[dataAnnotation])
    return 'data' in read ? read.data.profiles.get(profile)?.current : undefined
  }

  label(key: string): string | undefined {
    return this.node.metadata.labels?.[key]
  }

  relabel(labels: Readonly<Record<string, string | null>>): void {
    this.node = merged(this.node, { metadata: { labels } })
  }

  annotate(annotations: Readonly<Record<string, string | null>>): void {
    this.node = merged(this.node, { metadata: { annotations } })
  }

  #plugins(): Registry {
    const named = { name: required('text', 'what the test calls it') }
    const turn: Plugin<Check, typeof named> = {
      type: 'turn',
      about: 'Passes while the test says so.',
      fields: named,
      create: ({ name }) => ({
        check: () => {
          this.ran.push(name)
          if (this.broken.has(name)) throw new Error(`${name} cannot tell`)
          return { isPassed: this.on.has(name), info: {} }
        },
      }),
    }
    const lease: Plugin<Check, typeof named> = {
      type: 'lease',
      about: 'Passes while nobody has taken it.',
      fields: named,
      create: ({ name }) => ({
        check: () => ({ isPassed: !this.taken.includes(name), info: {} }),
        take: async () => {
          if (this.taken.includes(name)) throw new Error(`somebody else has taken ${name}`)
          this.taken.push(name)
        },
      }),
    }
    const far: Plugin<Check, typeof named> = {
      type: 'far',
      about: 'As turn, but it asks somebody outside.',
      fields: named,
      create: ({ name }) => ({
        check: () => {
          this.ran.push(name)
          return this.deaf.has(name)
            ? new Promise<never>(() => undefined)
            : Promise.resolve({ isPassed: this.on.has(name), info: {} })
        },
      }),
    }
    const note: Plugin<Trigger, typeof named> = {
      type: 'note',
      about: 'Notes that it ran, and needs more time while the test says so.',
      fields: named,
      create: ({ name }) => ({
        isOutside: true,
        run: ({ sinceMs }) => {
          this.ran.push(name)
          this.sinceMs = sinceMs
          if (this.broken.has(name)) throw new Error(`${name} cannot be done`)
          return this.busy.has(name) ? { retry: 'not yet' } : 'done'
        },
      }),
    }
    const quiet: Plugin<Notifier> = {
      type: 'quiet',
      about: 'Sends nothing.',
      fields: {},
      create: () => ({ send: async () => undefined }),
    }
    const change = { everyMs: optional('integer', 'how often, beyond each change', 0) }
    const onChange: Plugin<Schedule, typeof change> = {
      type: 'onchange',
      about: 'Due at each change of state.',
      fields: change,
      create: ({ everyMs }) => ({
        isDue: ({ current, previous, nowMs, lastSentMs = 0 }) =>
          current !== previous || (everyMs > 0 && nowMs - lastSentMs >= everyMs),
      }),
    }
    return {
      check: [...checkPlugins, ...([turn, lease, far] as unknown as Plugin<Check>[])],
      trigger: [...triggerPlugins, note as unknown as Plugin<Trigger>],
      notify: [quiet],
      schedule: [onChange as unknown as Plugin<Schedule>],
    }
  }
}

/** As the API server applies a merge patch. */
function merged(node: NodeObject, patch: object): NodeObject {
  const apply = (target: unknown, part: unknown): unknown => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    const base = typeof target === 'object' && target !== null ? { ...target } : {}
    for (const [key, value] of Object.entries(part))
      if (value === null) delete (base as Record<string, unknown>)[key]
      else (base as Record<string, unknown>)[key] = apply((base as Record<string, unknown>)[key], value)
    return base
  }
  return apply(node, patch) as NodeObject
}

/** Instances that most tests use: checks a, b, go, back; triggers t1, t2. */
export const instances = `instances:
  check:
${['a', 'b', 'go', 'back', 're-go'].map((name) => `  - {type: turn, name: ${name}, config: {name: ${name}}}`).join('\n')}
  - {type: lease, name: lease, config: {name: lease}}
  - {type: far, name: far, config: {name: far}}
  - {type: maxMaintenance, name: room, config: {max: 1}}
  trigger:
${['t1', 't2', 't3'].map((name) => `  - {type: note, name: ${name}, config: {name: ${name}}}`).join('\n')}
  - {type: alterLabel, name: mark, config: {key: altered, value: 'yes'}}
  - {type: alterLabel, name: unmark, config: {key: altered, remove: true}}
  - {type: alterFinalizer, name: free, config: {key: e2e/hold, remove: true}}
  - {type: alterFinalizer, name: bind, config: {key: e2e/hold}}
  - {type: alterLabel, name: own-label, config: {key: ${stateLabel}, value: nonsense}}
  - {type: alterAnnotation, name: own-data, config: {key: ${dataAnnotation}, value: nonsense}}
  - {type: alterLabel, name: rename, config: {key: ${profileLabel}, value: other}}
  notify:
  - {type: quiet, name: tell, config: {}, schedule: {type: onchange, config: {}}}
`

/** From one state to the next, for `profiles:` of a file. */
export function steps(name: string, ways: readonly (readonly [State, string, State, string?])[], more = ''): string {
  const byState = new Map<State, string[]>()
  for (const [from, check, next, trigger = ''] of ways)
    byState.set(from, [
      ...(byState.get(from) ?? []),
      `    - {check: ${JSON.stringify(check)}, next: ${next}, trigger: ${JSON.stringify(trigger)}}`,
    ])
  const blocks = [...byState].map(([state, lines]) => `  ${state}:\n    transitions:\n${lines.join('\n')}`)
  return `- name: ${name}\n${blocks.join('\n')}\n${more}`
}
