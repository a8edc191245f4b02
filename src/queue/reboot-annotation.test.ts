import { describe, expect, test } from 'vitest'
import { type MaintenanceRequest, rebootAnnotation } from '../api/index.ts'
import { node, noon, request } from './fixture-world.ts'
import { answerAnnotation, isAskedByAnnotation, rebootRequest } from './reboot-annotation.ts'

const asking = (reason: string, name = 'a') => node(name, { annotations: { [rebootAnnotation]: reason } })

function requestOf(reason: string, name = 'a'): MaintenanceRequest {
  const made = rebootRequest(asking(reason, name))
  if (!made) throw new Error('nobody asks')
  return made
}

describe('the request', () => {
  test('is a reboot in the ordinary line, kept from the beginning', () => {
    expect(requestOf('kernel 6.12')).toMatchObject({
      metadata: { name: expect.stringMatching(/^a-annotation-[0-9a-f]{5}$/), finalizers: ['fettle.dev/give-back'] },
      spec: {
        nodeName: 'a',
        nodeUID: 'uid-a',
        source: { kind: 'Reboot', key: 'annotation' },
        reason: 'kernel 6.12',
        work: 'Reboot',
        priority: 0,
      },
    })
  })

  test('has one name for the same words on the same node, and another for anything else', () => {
    const name = requestOf('kernel').metadata.name
    expect(requestOf('kernel').metadata.name).toBe(name)
    expect(requestOf('firmware').metadata.name).not.toBe(name)
    const reborn = { ...asking('kernel'), metadata: { ...asking('kernel').metadata, uid: 'uid-new' } }
    expect(rebootRequest(reborn)?.metadata.name).not.toBe(name)
  })

  test.for([
    ['an empty reason', '', 'no reason was given'],
    ['nothing but space', ' \n\t', 'no reason was given'],
    ['several lines', 'kernel\n\u0000and\u2028firmware ', 'kernel and firmware'],
    ['more than can be stored', 'x'.repeat(300), 'x'.repeat(256)],
  ] as const)('has a reason that can be stored and shown: %s', ([, text, reason]) => {
    expect(requestOf(text).spec.reason).toBe(reason)
  })
})

describe('the annotation', () => {
  const done = (reason: string, outcome: 'Completed' | 'Duplicate' = 'Completed') =>
    request(requestOf(reason).metadata.name ?? '', 'a', { status: { phase: 'Done', outcome, since: noon } })

  test('asks once', () => {
    expect(answerAnnotation(asking('kernel'), [])).toEqual({ make: requestOf('kernel') })
    const open = request(requestOf('kernel').metadata.name ?? '', 'a')
    expect(answerAnnotation(asking('kernel'), [open])).toBeUndefined()
    expect(answerAnnotation(node('a'), [])).toBeUndefined()
  })

  test.for(['Completed', 'Duplicate'] as const)('goes when its request ended as %s, from this node only', (outcome) => {
    expect(answerAnnotation(asking('kernel'), [done('kernel', outcome)])).toEqual({
      patch: { metadata: { resourceVersion: '1', uid: 'uid-a', annotations: { [rebootAnnotation]: null } } },
      request: requestOf('kernel').metadata.name,
    })
  })

  test('with a new reason is not answered by an old request', () => {
    expect(answerAnnotation(asking('firmware'), [done('kernel')])).toEqual({ make: requestOf('firmware') })
  })

  test('keeps its request until it is gone, and no other', () => {
    const made = { ...requestOf('kernel'), status: { phase: 'Done' } } as MaintenanceRequest
    expect(isAskedByAnnotation(made, asking('kernel'))).toBe(true)
    expect(isAskedByAnnotation(made, asking('firmware'))).toBe(false)
    expect(isAskedByAnnotation(made, node('a'))).toBe(false)
    expect(isAskedByAnnotation(made, undefined)).toBe(false)
    const another = { ...asking('kernel'), metadata: { ...asking('kernel').metadata, uid: 'uid-new' } }
    expect(isAskedByAnnotation(made, another)).toBe(false)
  })
})
