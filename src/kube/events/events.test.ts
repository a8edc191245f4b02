import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { ApiError, type KubeErrorCode } from '../errors.ts'
import type { Resource } from '../resource.ts'
import { cutToBytes, type EventNote, type EventObject, type EventSeries, eventName } from './event-record.ts'
import { EventRecorder, type EventRecorderOptions } from './events.ts'

const never = new AbortController().signal
const node = { apiVersion: 'v1', kind: 'Node', name: 'worker-1', uid: 'n1' }

function noteOf(note: Partial<EventNote> = {}): EventNote {
  return { regarding: node, type: 'Normal', reason: 'Drained', action: 'Drain', note: 'All pods have left.', ...note }
}

interface Sent {
  readonly verb: 'create' | 'patch'
  readonly group: string
  readonly name: string
  readonly count: number
}

/** A recorder on an API server that answers as scripted, then with yes. */
function bench(options: Partial<EventRecorderOptions> = {}) {
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  const sent: Sent[] = []
  const objects: EventObject[] = []
  const refusals: KubeErrorCode[] = []
  const refuse = () => {
    const code = refusals.shift()
    if (code) throw new ApiError({ code, method: 'POST', path: '/events', seen: 'as the test wanted' })
  }
  const client = {
    create: ({ group }: Resource, object: EventObject & { readonly count?: number }) => {
      const count = object.series?.count ?? object.count ?? 1
      sent.push({ verb: 'create', group, name: object.metadata.name ?? '', count })
      objects.push(object)
      return Promise.resolve().then(refuse)
    },
    patch: (
      { group }: Resource,
      ref: { name: string },
      { body }: { body: { series?: EventSeries; count?: number } },
    ) => {
      sent.push({ verb: 'patch', group, name: ref.name, count: body.series?.count ?? body.count ?? 0 })
      return Promise.resolve().then(refuse)
    },
  } as unknown as EventRecorderOptions['client']
  const reporter = { reportingController: 'fettle.dev/controller', reportingInstance: 'fettle-0' }
  const recorder = new EventRecorder({ client, clock, random: () => 0.5, ...reporter, ...options })
  const tally = () => sent.map(({ verb, count }) => `${verb} ${count}`)
  return { clock, recorder, sent, objects, refusals, tally }
}

describe('what is written', () => {
  test('an event about a node lives in the default namespace and says who saw what when', async () => {
    const { clock, recorder, objects } = bench()
    recorder.record(noteOf())
    await clock.advance(0)
    expect(objects).toEqual([
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: 'worker-1.19b76daa8008000000', namespace: 'default' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        type: 'Normal',
        reason: 'Drained',
        action: 'Drain',
        note: 'All pods have left.',
        regarding: node,
        reportingController: 'fettle.dev/controller',
        reportingInstance: 'fettle-0',
      },
    ])
  })

  test('an event about a namespaced object lives beside it', async () => {
    const { clock, recorder, objects } = bench()
    recorder.record(noteOf({ regarding: { apiVersion: 'v1', kind: 'Pod', name: 'p', namespace: 'shop' } }))
    await clock.advance(0)
    expect(objects[0]?.metadata.namespace).toBe('shop')
  })

  test.each([
    ['short enough', 'abc', 10, 'abc'],
    ['cut with an ellipsis', 'abcdefghijk', 10, 'abcdefg…'],
    ['never cut inside a character', 'aäöü€😀😀', 12, 'aäöü…'],
  ])('a text is %s', (_, text, most, expected) => {
    expect(cutToBytes(text, most)).toBe(expected)
    expect(Buffer.byteLength(cutToBytes(text, most))).toBeLessThanOrEqual(most)
  })

  test.each([
    ['kept', 'node-1.example.com', 'node-1.example.com.ff'],
    ['made into a DNS name', 'system:Node_:x:', 'system-node--x.ff'],
    ['dropped when nothing is left of it', ':::', 'ff'],
    ['cut to 253', `${'a'.repeat(300)}`, `${'a'.repeat(250)}.ff`],
  ])("the object's name is %s", (_, name, expected) => {
    expect(eventName({ ...node, name }, 'ff')).toBe(expected)
  })
})

describe('repetitions', () => {
  test('in the same breath are one request', async () => {
    const { clock, recorder, tally } = bench()
    for (let i = 0; i < 5; i++) recorder.record(noteOf())
    await clock.advance(0)
    expect(tally()).toEqual(['create 5'])
  })

  test('later ones raise the count of the same event', async () => {
    const { clock, recorder, sent, tally } = bench()
    for (let i = 0; i < 3; i++) {
      recorder.record(noteOf())
      await clock.advance(1_000)
    }
    expect(tally()).toEqual(['create 1', 'patch 2', 'patch 3'])
    expect(new Set(sent.map((request) => request.name)).size).toBe(1)
  })

  test('that a request on its way tells already are not told again at the stop', async () => {
    const { clock, recorder, tally } = bench()
    recorder.record(noteOf())
    await clock.advance(0)
    recorder.record(noteOf())
    await Promise.resolve()
    expect(tally()).toEqual(['create 1', 'patch 2'])
    await recorder.stop(never)
    expect(tally()).toEqual(['create 1', 'patch 2'])
    expect(recorder.stats()).toMatchObject({ recorded: 2, created: 1, patched: 1 })
  })

  test('after a long pause are a new event', async () => {
    const { clock, recorder, tally } = bench()
    recorder.record(noteOf())
    await clock.advance(600_001)
    recorder.record(noteOf())
    await clock.advance(0)
    expect(tally()).toEqual(['create 1', 'create 1'])
  })

  test('a series that the API server has forgotten goes on under a new name', async () => {
    const { clock, recorder, refusals, sent, tally } = bench()
    recorder.record(noteOf())
    await clock.advance(0)
    refusals.push('NotFound')
    recorder.record(noteOf())
    await clock.advance(0)
    expect(tally()).toEqual(['create 1', 'patch 2', 'create 2'])
    expect(new Set(sent.map((request) => request.name)).size).toBe(2)
  })
})

describe('limits', () => {
  test('one object gets its burst and then its rate, and the count catches up', async () => {
    const { clock, recorder, tally } = bench({ burst: 2, refillMs: 1_000 })
    for (let i = 0; i < 4; i++) {
      recorder.record(noteOf())
      await clock.advance(10)
    }
    expect(tally()).toEqual(['create 1', 'patch 2'])
    await clock.advance(1_000)
    recorder.record(noteOf())
    await clock.advance(0)
    expect(tally()).toEqual(['create 1', 'patch 2', 'patch 5'])
  })

  test('a noisy object costs another one nothing', async () => {
    const { clock, recorder, objects } = bench({ burst: 2 })
    for (let i = 0; i < 100; i++) recorder.record(noteOf({ note: `attempt ${i}` }))
    recorder.record(noteOf({ regarding: { ...node, name: 'worker-2', uid: 'n2' } }))
    await clock.advance(0)
    expect(objects.map((object) => object.regarding.name)).toEqual(['worker-1', 'worker-1', 'worker-2'])
    expect(recorder.stats()).toMatchObject({ recorded: 101, created: 3, dropped: 98 })
  })

  test('what fails at each look does not push out what happens once to the same object', async () => {
    const { clock, recorder, objects } = bench({ burst: 2 })
    for (let i = 0; i < 100; i++) {
      recorder.record(noteOf({ reason: 'CheckFailed', note: 'The same again.' }))
      recorder.record(noteOf({ reason: 'DrainOverdue', note: `${100 - i} pods are left.` }))
      await clock.advance(10)
    }
    for (const note of ['required', 'in']) recorder.record(noteOf({ reason: 'ChangedMaintenanceState', note }))
    await clock.advance(0)
    const told = objects.filter(({ reason }) => reason === 'ChangedMaintenanceState')
    expect(told.map(({ note }) => note)).toEqual(['required', 'in'])
  })

  test('a full buffer drops and counts', async () => {
    const { clock, recorder } = bench({ bufferSize: 3, burst: 100 })
    for (let i = 0; i < 10; i++) recorder.record(noteOf({ note: `number ${i}` }))
    await clock.advance(0)
    expect(recorder.stats()).toMatchObject({ created: 3, dropped: 7, waiting: 0 })
  })
})

describe('trouble', () => {
  test('a busy API server is asked again, a lost answer is recognised, a refusal is counted', async () => {
    const { clock, recorder, refusals, tally } = bench()
    refusals.push('Unavailable', 'UnknownOutcome', 'AlreadyExists')
    recorder.record(noteOf())
    await clock.advance(10_000)
    expect(tally()).toEqual(['create 1', 'create 1', 'create 1'])
    expect(recorder.stats()).toMatchObject({ created: 1, failed: 0 })
    refusals.push('Invalid')
    recorder.record(noteOf({ note: 'that the server does not like' }))
    await clock.advance(0)
    expect(recorder.stats()).toMatchObject({ created: 1, failed: 1 })
  })

  test('who may write events to the API of old only does so, and asks the other one once', async () => {
    const { clock, recorder, refusals, sent, objects } = bench()
    const asked = () => sent.map(({ verb, group, count }) => `${verb} ${group || 'core'} ${count}`)
    refusals.push('Forbidden')
    for (const afterMs of [1_000, 0]) {
      recorder.record(noteOf())
      await clock.advance(afterMs)
    }
    expect(asked()).toEqual(['create events.k8s.io 1', 'create core 1', 'patch core 2'])
    recorder.record(noteOf({ note: 'Another.' }))
    recorder.record(noteOf({ note: 'Another.' }))
    await clock.advance(0)
    expect(asked().slice(3)).toEqual(['create core 2'])
    expect(new Set(sent.map(({ name }) => name)).size).toBe(2)
    expect(recorder.stats()).toMatchObject({ created: 2, patched: 1, failed: 0 })
    expect(objects[1]).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'worker-1.19b76daa8008000000', namespace: 'default' },
      involvedObject: node,
      type: 'Normal',
      reason: 'Drained',
      action: 'Drain',
      message: 'All pods have left.',
      source: { component: 'fettle.dev/controller' },
      reportingComponent: 'fettle.dev/controller',
      reportingInstance: 'fettle-0',
      firstTimestamp: '2026-01-01T00:00:00.000000Z',
      lastTimestamp: '2026-01-01T00:00:00.000000Z',
      count: 1,
    })
  })

  test('where both are forbidden, as in a namespace that is being deleted, the next event is written as ever', async () => {
    const { clock, recorder, refusals, sent } = bench()
    refusals.push('Forbidden', 'Forbidden')
    recorder.record(noteOf({ regarding: { ...node, kind: 'Pod', namespace: 'ending' } }))
    await clock.advance(0)
    recorder.record(noteOf())
    await clock.advance(0)
    expect(sent.map(({ group }) => group)).toEqual(['events.k8s.io', '', 'events.k8s.io'])
    expect(recorder.stats()).toMatchObject({ created: 1, failed: 1 })
  })

  test('an answer that got lost is recognised in the API of old, too', async () => {
    const { clock, recorder, refusals, sent } = bench()
    refusals.push('Forbidden', 'UnknownOutcome', 'Forbidden', 'AlreadyExists')
    recorder.record(noteOf())
    await clock.advance(10_000)
    recorder.record(noteOf())
    await clock.advance(0)
    expect(sent.map(({ verb, group }) => `${verb} ${group || 'core'}`)).toEqual([
      'create events.k8s.io',
      'create core',
      'create events.k8s.io',
      'create core',
      'patch core',
    ])
    expect(recorder.stats()).toMatchObject({ created: 1, patched: 1, failed: 0 })
  })

  test('nothing that is recorded can throw', () => {
    const { recorder } = bench()
    const broken = { ...noteOf(), regarding: undefined } as unknown as EventNote
    expect(() => recorder.record(broken)).not.toThrow()
    expect(recorder.stats().failed).toBe(1)
  })
})

describe('stopping', () => {
  test('sends what waits and the counts that lag behind', async () => {
    const { clock, recorder, tally } = bench({ burst: 1 })
    recorder.record(noteOf())
    await clock.advance(0)
    recorder.record(noteOf())
    recorder.record(noteOf())
    recorder.record(noteOf({ regarding: { ...node, uid: 'n2' } }))
    expect(await recorder.stop(never)).toMatchObject({ created: 2, patched: 1, dropped: 0, waiting: 0 })
    expect(tally()).toEqual(['create 1', 'create 1', 'patch 3'])
    recorder.record(noteOf({ note: 'too late' }))
    expect(recorder.stats().dropped).toBe(1)
  })

  test('gives up when there is no more time', async () => {
    const { clock, recorder, refusals } = bench()
    refusals.push('Unavailable')
    recorder.record(noteOf())
    recorder.record(noteOf({ note: 'another' }))
    const noTime = new AbortController()
    const stopped = recorder.stop(noTime.signal)
    await clock.advance(1)
    noTime.abort()
    expect(await stopped).toMatchObject({ created: 0, dropped: 1 })
    await clock.advance(0)
    expect(clock.sleeping).toBe(0)
  })
})
