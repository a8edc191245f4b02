import type { Waiting } from '../api/index.ts'
import type { Clock } from '../time/index.ts'

/** Whoever is far back in the line is told of a new place only now and then: else one claim would cost a write for each. */
const [headOfLine, headToldEveryMs, othersToldEveryMs] = [10, 1_000, 600_000]

type Place = Omit<Waiting, 'since'>

/** What those in line have been told of their place, and whom to tell now. */
export class LineNews {
  readonly #clock: Pick<Clock, 'monotonic'>
  #places: ReadonlyMap<string, Place> = new Map()
  readonly #told = new Map<string, { readonly place: Place; readonly atMs: number }>()
  #nextMs = Number.POSITIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** What a request is told now: the truth, or what it knows if it was told lately. */
  of(name: string): Place | undefined {
    return this.#told.get(name)?.place
  }

  /** Takes the line as it is now; answers who has to be told. */
  take(places: ReadonlyMap<string, Place>): string[] {
    const nowMs = this.#clock.monotonic()
    const line = new Map<string, Place>()
    const due: string[] = []
    this.#nextMs = Number.POSITIVE_INFINITY
    for (const [name, found] of places) {
      const place = withPassedSince(found, this.#places.get(name))
      line.set(name, place)
      const told = this.#told.get(name)
      if (told && isSame(told.place, place)) continue
      const dueMs = told?.place.for === place.for ? told.atMs + toldEveryMs(place) : nowMs
      if (dueMs > nowMs) this.#nextMs = Math.min(this.#nextMs, dueMs)
      else {
        this.#told.set(name, { place, atMs: nowMs })
        due.push(name)
      }
    }
    this.#places = line
    for (const name of this.#told.keys()) if (!places.has(name)) this.#told.delete(name)
    return due
  }

  /** When somebody who was not told at once has to be, by the clock that measures. */
  get nextMs(): number {
    return this.#nextMs
  }

  waitsFor(what: Place['for']): boolean {
    for (const place of this.#places.values()) if (place.for === what) return true
    return false
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
