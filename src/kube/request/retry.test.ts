import { describe, expect, it } from 'vitest'
import { backoffMs } from '../backoff.ts'
import { type Attempt, decideRetry } from './retry.ts'

const attempt = (fields: Partial<Attempt>): Attempt => ({
  number: 1,
  code: 'Unreachable',
  wasSent: true,
  isRepeatable: false,
  ...fields,
})

describe('decideRetry', () => {
  const cases: readonly [string, Partial<Attempt>, string][] = [
    ['a read after a reset', { isRepeatable: true }, 'again'],
    ['a write that was not sent', { wasSent: false }, 'again'],
    ['a write after a reset', {}, 'UnknownOutcome'],
    ['a read after five resets', { isRepeatable: true, number: 5 }, 'Unreachable'],
    ['a read that waits, after many resets', { isRepeatable: true, number: 50, isWaitedFor: true }, 'again'],
    ['a write that waits, and is in doubt', { number: 50, isWaitedFor: true }, 'UnknownOutcome'],
    ['a write told to come back', { code: 'TooManyRequests', retryAfterMs: 10 }, 'again'],
    ['a write told so ten times', { code: 'TooManyRequests', retryAfterMs: 10, number: 10 }, 'TooManyRequests'],
    ['a blocked eviction', { code: 'EvictionBlocked', retryAfterMs: 10 }, 'EvictionBlocked'],
    ['a write on an unavailable server with Retry-After', { code: 'Unavailable', retryAfterMs: 10 }, 'again'],
    ['a write on an unavailable server without', { code: 'Unavailable' }, 'Unavailable'],
    ['a read on an unavailable server', { code: 'Unavailable', isRepeatable: true }, 'again'],
    ['a write after the server timed out', { code: 'ServerTimeout' }, 'UnknownOutcome'],
    ['a read after the server timed out', { code: 'ServerTimeout', isRepeatable: true }, 'ServerTimeout'],
    ['an internal error', { code: 'Server', isRepeatable: true }, 'Server'],
    ['a conflict', { code: 'Conflict', isRepeatable: true }, 'Conflict'],
    ['a server that is not trusted', { code: 'Untrusted', isRepeatable: true }, 'Untrusted'],
  ]
  for (const [name, fields, expected] of cases) {
    it(`${name}: ${expected}`, () => {
      const decision = decideRetry(attempt(fields), () => 0)
      expect(decision.retry ? 'again' : decision.code).toBe(expected)
    })
  }

  it('waits as long as asked, but never longer than half a minute', () => {
    const wait = (retryAfterMs: number) => {
      const decision = decideRetry(attempt({ code: 'TooManyRequests', retryAfterMs }), () => 0)
      return decision.retry ? decision.afterMs : undefined
    }
    expect([wait(0), wait(7_000), wait(3_600_000)]).toEqual([0, 7_000, 30_000])
  })
})

describe('backoffMs', () => {
  it('doubles to a ceiling, with jitter below', () => {
    const options = { firstMs: 100, longestMs: 1_000 }
    const waits = (random: number) =>
      [1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, options, () => random))
    expect(waits(1)).toEqual([100, 200, 400, 800, 1_000, 1_000])
    expect(waits(0)).toEqual([50, 100, 200, 400, 500, 500])
  })
})
