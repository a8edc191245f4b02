import { expect, test } from 'vitest'
import { ApiError, type KubeErrorCode, type StatusDetails } from '../kube/index.ts'
import { answerOf } from './ask-pods.ts'
import { pod } from './fixture-pods.ts'

const asked = { pod: pod('a'), how: 'evict' } as const

function failure(code: KubeErrorCode, status: number, details?: StatusDetails, retryAfterMs?: number): ApiError {
  const path = '/api/v1/namespaces/shop/pods/a/eviction'
  return new ApiError({ code, method: 'POST', path, seen: 'the words of the server', status, details, retryAfterMs })
}

const going = { causes: [{ reason: 'NamespaceTerminating', message: 'namespace shop is being terminated' }] }
test.for<readonly [string, unknown, object]>([
  ['404', failure('NotFound', 404), { result: 'gone' }],
  ['409: the name is that of another pod by now', failure('Conflict', 409), { result: 'gone' }],
  [
    '429 of a budget',
    failure('EvictionBlocked', 429, undefined, 10_000),
    { result: 'refused', why: 'the words of the server', retryAfterMs: 10_000 },
  ],
  [
    '429 of flow control',
    failure('TooManyRequests', 429, undefined, 1_000),
    { result: 'failed', why: expect.stringContaining('TooManyRequests (429)') as string, retryAfterMs: 1_000 },
  ],
  [
    '403 of a namespace that is going',
    failure('Forbidden', 403, going),
    { result: 'refused', why: 'its namespace is being deleted, and the pod with it' },
  ],
  [
    '403 of missing rights',
    failure('Forbidden', 403),
    { result: 'failed', why: expect.stringContaining('Forbidden (403)') as string },
  ],
  [
    '500, as for two budgets',
    failure('Server', 500),
    { result: 'failed', why: expect.stringContaining('Server (500)') as string },
  ],
  ['no answer', new Error('broken'), { result: 'failed', why: 'broken' }],
])('%s', ([, error, expected]) => {
  expect(answerOf(asked, error)).toEqual({ asked, ...expected })
})
