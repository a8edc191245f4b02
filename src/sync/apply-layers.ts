import { type Key, keyId, keyText } from './key.ts'
import type { ApplyStep } from './plan/steps.ts'

export interface LayersOptions<T> {
  /** How many requests are under way at a time; asked whenever one has ended. */
  readonly width: () => number
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
  const isFree = ({ key, after }: ApplyStep) => after.every((need) => !open.has(keyId(need)) || isSame(need, key))
  const waiting = new Set(steps)
  const lost = new Set<string>()
  const run = async (step: ApplyStep) => {
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
  }
  await new Promise<void>((resolve, reject) => {
    let running = 0
    const goOn = () => {
      const most = width()
      for (const step of waiting) {
        if (running >= most) return
        if (step.after.some((need) => lost.has(keyId(need)))) {
          waiting.delete(step)
          open.delete(keyId(step.key))
          lost.add(keyId(step.key))
          left.push(step)
        } else if (isFree(step)) {
          waiting.delete(step)
          running++
          run(step).then(() => {
            running--
            goOn()
          }, reject)
        }
      }
      if (running > 0) return
      if (waiting.size === 0) resolve()
      else reject(new Error(`nothing can go first: ${[...waiting].map(({ key }) => keyText(key)).join(', ')}`))
    }
    goOn()
  })
}

function isSame(one: Key, other: Key): boolean {
  return keyId(one) === keyId(other)
}
