import { type Key, keyId, keyText } from './key.ts'
import type { ApplyStep } from './plan/steps.ts'

export interface LayersOptions<T> {
  /** How many requests are under way at a time. */
  readonly width: number
  readonly signal: AbortSignal
  readonly apply: (step: ApplyStep) => Promise<T>
  /** Before a step: what it needs is there; waits until that is healthy. */
  readonly ready: (step: ApplyStep) => Promise<void>
}

export interface LayersOutcome<T> {
  readonly done: ReadonlyMap<string, { readonly step: ApplyStep; readonly result: T }>
  readonly failed: readonly { readonly step: ApplyStep; readonly error: unknown }[]
  /** Steps of layers that were not begun, or that needed what failed. */
  readonly left: readonly ApplyStep[]
}

/**
 * One layer after the other. Inside a layer all side by side, but for what needs something of the same layer first.
 * When one fails, the rest of its layer is finished, and no further layer is begun.
 */
export async function applyLayers<T>(
  steps: readonly ApplyStep[],
  options: LayersOptions<T>,
): Promise<LayersOutcome<T>> {
  const done = new Map<string, { readonly step: ApplyStep; readonly result: T }>()
  const failed: { readonly step: ApplyStep; readonly error: unknown }[] = []
  const left: ApplyStep[] = []
  const layers = [...new Set(steps.map(({ layer }) => layer))].sort((a, b) => a - b)
  for (const layer of layers) {
    const here = steps.filter((step) => step.layer === layer)
    if (failed.length > 0 || left.length > 0) {
      left.push(...here)
      continue
    }
    await applyLayer(here, options, done, failed, left)
    options.signal.throwIfAborted()
  }
  return { done, failed, left }
}

async function applyLayer<T>(
  steps: readonly ApplyStep[],
  { width, signal, apply, ready }: LayersOptions<T>,
  done: Map<string, { readonly step: ApplyStep; readonly result: T }>,
  failed: { readonly step: ApplyStep; readonly error: unknown }[],
  left: ApplyStep[],
): Promise<void> {
  const open = new Map(steps.map((step) => [keyId(step.key), step]))
  const running = new Set<Promise<void>>()
  const isFree = ({ key, after }: ApplyStep) => after.every((need) => !open.has(keyId(need)) || isSame(need, key))
  const waiting = new Set(steps)
  const lost = new Set<string>()
  const start = (step: ApplyStep) => {
    waiting.delete(step)
    const run = (async () => {
      const id = keyId(step.key)
      try {
        await ready(step)
        done.set(id, { step, result: await apply(step) })
      } catch (error) {
        signal.throwIfAborted()
        failed.push({ step, error })
        lost.add(id)
      } finally {
        open.delete(id)
      }
    })()
    const settled: Promise<void> = run.finally(() => running.delete(settled))
    running.add(settled)
  }
  while (waiting.size > 0 || running.size > 0) {
    for (const step of waiting) {
      if (running.size >= width) break
      if (step.after.some((need) => lost.has(keyId(need)))) {
        waiting.delete(step)
        open.delete(keyId(step.key))
        lost.add(keyId(step.key))
        left.push(step)
      } else if (isFree(step)) start(step)
    }
    if (running.size === 0 && waiting.size > 0)
      throw new Error(`nothing can go first: ${[...waiting].map(({ key }) => keyText(key)).join(', ')}`)
    await Promise.race(running)
  }
}

function isSame(one: Key, other: Key): boolean {
  return keyId(one) === keyId(other)
}
