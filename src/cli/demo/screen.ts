import type { QueueViews } from '../../queue/index.ts'
import type { CliContext } from '../context.ts'
import { requestText } from '../follow-request.ts'
import type { Availability } from './availability.ts'
import { type DemoFrame, frameText, progressLine } from './view.ts'
import { namespace } from './workloads.ts'

/** Redraws the picture on a terminal; in a pipe it writes a line for each thing that happened. */
export class DemoScreen {
  readonly #context: CliContext
  readonly #startedAt: number
  readonly #order: readonly string[]
  readonly #told = new Map<string, string>()
  #drawnLines = 0

  constructor(context: CliContext, order: readonly string[]) {
    this.#context = context
    this.#order = order
    this.#startedAt = context.nowMs()
  }

  draw(views: QueueViews, availability: readonly Availability[], note: string): void {
    const frame: DemoFrame = {
      nodes: this.#order.flatMap((name) => views.nodes.get({ name }) ?? []),
      pods: [...views.pods.values()].filter((pod) => pod.metadata.namespace === namespace),
      requests: [...views.requests.values()],
      availability,
      elapsedSeconds: (this.#context.nowMs() - this.#startedAt) / 1000,
      note,
    }
    if (this.#context.progress.isTTY) this.#redraw(frame)
    else this.#tell(frame)
  }

  #redraw(frame: DemoFrame): void {
    const width = (this.#context.progress.columns ?? 100) - 1
    const lines = frameText(frame)
      .split('\n')
      .map((line) => cut(line, width))
    const up = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : ''
    this.#context.progress.write(`${up}${lines.map((line) => `\x1b[2K${line}\n`).join('')}\x1b[0J`)
    this.#drawnLines = lines.length
  }

  #tell(frame: DemoFrame): void {
    for (const request of frame.requests) {
      const { name = '' } = request.metadata
      // Pods that leave one by one are no news; a new phase or a new obstacle is.
      const key = `${request.status?.phase} ${request.status?.drain?.blockedBy[0]?.pod ?? ''}`
      if (this.#told.get(name) === key) continue
      this.#told.set(name, key)
      this.#context.progress.write(`  ${requestText(request)}\n`)
    }
    const done = frame.requests.filter(({ status }) => status?.phase === 'Done').length
    const line = progressLine(done, frame.requests.length, frame.elapsedSeconds)
    for (const [key, text] of [
      ['done', String(done)],
      ['note', frame.note],
    ] as const) {
      if (this.#told.get(key) === text || text === '') continue
      this.#told.set(key, text)
      this.#context.progress.write(key === 'done' ? `${line}\n` : `  ${text}\n`)
    }
  }
}

const codeStart = String.fromCharCode(27)
const colourCode = new RegExp(String.raw`(${codeStart}\[\d+m)`)

/** Cuts to what fits, not counting colour codes. */
function cut(line: string, width: number): string {
  let seen = 0
  let out = ''
  for (const part of line.split(colourCode)) {
    if (part.startsWith(codeStart)) out += part
    else {
      out += part.slice(0, Math.max(0, width - seen))
      seen += part.length
    }
  }
  return out
}
