import type { Waiting } from '../api/index.ts'
import type { Clock } from '../time/index.ts'

/** Whoever is far back in the line is told of a new place only now and then: else one claim would cost a write for each. */
const [headOfLine, headToldEveryMs, othersToldEveryMs] = [10, 1_000, 600_000]

type Place = Omit<Waiting, 'since'>

/** What those in line have been told of their place, and whom to tell now. */
export class LineNews {
  readonly #clock: Pick<Clock, 'now'>
  #places: ReadonlyMap<string, Place> = new Map()
  readonly #told = new Map<string, { readonly place: Place; readonly atMs: number }>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** What a request is told now: the truth, or what it knows if it was told lately. */
  of(name: string): Place | undefined {
    return this.#told.get(name)?.place
  }

  /** Takes the line as it is now; answers who has to be told. */
  take(places: ReadonlyMap<string, Place>): string[] {
    const nowMs = this.#clock.now()
    this.#places = new Map([...places].map(([name, place]) => [name, withPassedSince(place, this.#places.get(name))]))
    for (const name of this.#told.keys()) if (!places.has(name)) this.#told.delete(name)
    const due = [...this.#places].filter(([name, place]) => this.#isDue(this.#told.get(name), place, nowMs))
    for (const [name, place] of due) this.#told.set(name, { place, atMs: nowMs })
    return due.map(([name]) => name)
  }

  waitsFor(what: Place['for']): boolean {
    for (const place of this.#places.values()) if (place.for === what) return true
    return false
  }

  /** When somebody who was not told at once has to be. */
  nextMs(): number {
    const waits = [...this.#places].flatMap(([name, place]) => {
      const told = this.#told.get(name)
      return told && !isSame(told.place, place) ? [told.atMs + toldEveryMs(place)] : []
    })
    return Math.min(...waits, Number.POSITIVE_INFINITY)
  }

  #isDue(told: { readonly place: Place; readonly atMs: number } | undefined, place: Place, nowMs: number): boolean {
    if (!told) return true
    if (isSame(told.place, place)) return false
    return told.place.for !== place.for || told.atMs + toldEveryMs(place) <= nowMs
  }
}

/** That it was passed may be told long after the claim that did it, and then the first such claim is what counts. */
function withPassedSince(place: Place, before: Place | undefined): Place {
  const [now, known] = [place.passedSince, before?.passedSince]
  return known === undefined || (now !== undefined && now <= known) ? place : { ...place, passedSince: known }
}

function toldEveryMs({ position = 0 }: Place): number {
  return position <= headOfLine ? headToldEveryMs : othersToldEveryMs
}

function isSame(a: Place, b: Place): boolean {
  return a.for === b.for && a.message === b.message && a.position === b.position && a.passedSince === b.passedSince
}
