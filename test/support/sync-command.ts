import { expect } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { isNotFound, type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import type { Plan } from '../../src/sync/index.ts'
import type { Step } from '../../src/sync/plan/steps.ts'
import { type Ground, prepareGround, type Test } from './e2e-cluster.ts'
import {
  type FettleOptions,
  type FettleProcess,
  type FettleResult,
  fettle,
  fromSyncBundle,
  startFettle,
} from './fettle-process.ts'
import { makeRepository, type SyncRepository } from './sync-repository.ts'

/** Commands about what is remembered: they read no repository. */
const remembering = new Set(['status', 'history', 'approve', 'keep', 'release', 'adopt', 'verify', 'export'])

export interface SyncScene extends Ground {
  readonly repository: SyncRepository
  /** One command, with the flags that each needs. */
  readonly sync: (verb: string, ...args: readonly string[]) => Promise<FettleResult>
  /** `run --once --yes` that ends with this exit code. */
  readonly run: (code: number, ...args: readonly string[]) => Promise<FettleResult>
  /** The same, but the clock of its machine is this much ahead. */
  readonly runLater: (seconds: number, code: number, ...args: readonly string[]) => Promise<FettleResult>
  readonly plan: (...args: readonly string[]) => Promise<ShownPlan>
  /** A command that goes on. */
  readonly start: (verb: string, ...args: readonly string[]) => FettleProcess
  readonly read: <T extends KubeObject>(resource: Resource, name: string, namespace?: string) => Promise<T | undefined>
  /** Those of the names that there are. */
  readonly configMaps: (...names: readonly string[]) => Promise<readonly string[]>
}

export interface ShownPlan extends Omit<Plan, 'steps'> {
  readonly code: number | null
  readonly steps: readonly Step[]
  /** As `do name`. */
  readonly deeds: readonly string[]
}

/** A repository, a namespace, and the program between them. */
export async function prepareSync(test: Test, { kubeconfig = '' } = {}): Promise<SyncScene> {
  const ground = await prepareGround(test)
  const repository = makeRepository(test)
  const argv = (verb: string, args: readonly string[]) => [
    ...['sync', verb, '--kubeconfig', kubeconfig || adminKubeconfig(ground.record)],
    ...(args.includes('--namespace') ? [] : ['--namespace', ground.namespace]),
    ...(remembering.has(verb) ? [] : ['--url', repository.folder, '--branch', 'main']),
    ...args,
  ]
  const sync = (verb: string, ...args: readonly string[]) => fettle(argv(verb, args))
  const run = async (code: number, args: readonly string[], options: FettleOptions = {}) => {
    const result = await fettle(argv('run', ['--once', '--yes', ...args]), options)
    expect(result, result.stderr + result.stdout).toMatchObject({ code })
    return result
  }
  const read = async <T extends KubeObject>(resource: Resource, name: string, namespace = ground.namespace) =>
    ground.admin.get<T>(resource, resource.namespaced ? { name, namespace } : { name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  return {
    ...ground,
    repository,
    sync,
    read,
    run: (code, ...args) => run(code, args),
    runLater: (seconds, code, ...args) => run(code, args, { program: later(seconds) }),
    start: (verb, ...args) => startFettle(argv(verb, args)),
    plan: async (...args) => {
      const { code, stdout, stderr } = await sync('plan', '-o', 'json', ...args)
      expect(stdout, stderr).not.toBe('')
      const plan = JSON.parse(stdout) as Plan
      return { ...plan, code, deeds: plan.steps.filter(isTold).map((step) => `${step.do} ${step.key.name}`) }
    },
    configMaps: async (...names) => {
      const found = await Promise.all(names.map((name) => read(resources.configMaps, name)))
      return names.filter((_, index) => found[index] !== undefined)
    },
  }
}

/** What every namespace has, and what controllers make, is no news. */
function isTold(step: Step): boolean {
  // What the cluster has outside of namespaces is there by other tests.
  const isEverywhere =
    step.do === 'keep' &&
    (step.key.namespace === '' || ['owned', 'revisions', 'root-ca', 'sa-default', 'self'].includes(step.rule))
  return !isEverywhere
}

/** The program on a machine whose clock says a later time. */
function later(seconds: number): readonly string[] {
  const [node, bundle] = fromSyncBundle
  const shift = `const now = Date.now; Date.now = () => now() + ${seconds * 1_000}`
  return [node, '--import', `data:text/javascript,${encodeURIComponent(shift)}`, bundle]
}

export function configMap(name: string, data: Readonly<Record<string, string>> = { a: '1' }, more = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}${more}}\ndata: ${JSON.stringify(data)}\n`
}

/** One file for each. */
export function configMapFiles(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`${name}.yaml`, configMap(name)]))
}
