import { describe, expect, it } from 'vitest'
import { ApiError, ConfigError, isConflict, isNotFound, isRetryable, kubeErrorCodes } from './errors.ts'
import { parseRetryAfter } from './request/status.ts'

describe('errors', () => {
  it('name the request, the attempts, what was seen and the next step', () => {
    const error = new ApiError({
      code: 'NotFound',
      method: 'GET',
      path: '/api/v1/nodes/n1',
      seen: 'nodes "n1" not found',
      status: 404,
      attempts: 2,
    })
    expect(error.message).toBe(
      'GET /api/v1/nodes/n1 failed after 2 attempts: NotFound (404): nodes "n1" not found. Check name and namespace; for a whole resource, check that its CRD is installed.',
    )
    expect([isNotFound(error), isConflict(error), isRetryable(error)]).toEqual([true, false, false])
  })

  it('of the configuration name the place', () => {
    expect(new ConfigError('BadConfig', 'no', { file: 'f', line: 3 }).message).toBe('f:3: no.')
  })

  it('are all explained in whole sentences', () => {
    for (const row of Object.values(kubeErrorCodes)) {
      expect(row.meaning).toMatch(/^[A-Z].*\.$/)
      expect(row.nextStep).toMatch(/^[A-Z].*\.$/)
    }
  })
})

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(parseRetryAfter('5', now)).toBe(5_000)
    expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:10 GMT', now)).toBe(10_000)
    expect(parseRetryAfter('Thu, 01 Jan 2025 00:00:10 GMT', now)).toBe(0)
    expect(parseRetryAfter('soon', now)).toBeUndefined()
    expect(parseRetryAfter(undefined, now)).toBeUndefined()
  })
})
