import { expect, test, vi } from 'vitest'
import type { KubeClient } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import { nodeOf, noon } from './fixture-pass.ts'
import { messageContext, type Offer, Outbox } from './outbox.ts'
import type { NotifyContext } from './plugin.ts'
import { NotSent } from './plugins/notify/not-sent.ts'
import { goTimeOf } from './state/go-time.ts'
import type { Pending } from './state/progress.ts'

const pending = (instance: string): Pending => ({
  profile: 'p',
  instance,
  state: 'in-maintenance',
  previous: 'operational',
  at: '2026-03-01T12:00:00Z',
})

function prepare(context: { onTestFinished(end: () => void): void }) {
  const clock = new FakeClock(noon)
  const end = new AbortController()
  context.onTestFinished(() => end.abort())
  const [woken, failures, remarks]: [string[], string[], string[]] = [[], [], []]
  const outbox = new Outbox({
    doors: { client: {} as KubeClient, clock },
    random: () => 1,
    signal: end.signal,
    onSent: (node) => woken.push(node),
    onFailure: ({ instance, attempt, cause }) => failures.push(`${instance} ${attempt}: ${cause}`),
    onRemark: ({ instance, remark }) => remarks.push(`${instance}: ${remark}`),
  })
  const offerOf = (name: string, send: () => Promise<string | undefined>, node = nodeOf('n1')): Offer => ({
    node,
    pending: pending(name),
    instance: { name, type: 'slack', instance: { send }, schedule: { isDue: () => true } },
    context: {} as NotifyContext,
  })
  return { clock, outbox, woken, failures, remarks, offerOf, end }
}

test('a message is sent once, however often it is offered, and handed back until it is noted', async (context) => {
  const { outbox, woken, offerOf } = prepare(context)
  const send = vi.fn(async () => undefined)
  for (let time = 0; time < 3; time++) outbox.offer(offerOf('chat', send))
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  expect(send).toHaveBeenCalledTimes(1)
  const sent = [{ ...pending('chat'), sentMs: noon }]
  expect(outbox.sentOf('uid-n1', [pending('chat'), pending('mail')])).toEqual(sent)
  expect(outbox.sentOf('uid-n1', [pending('chat')])).toEqual(sent)
  expect(outbox.sentOf('uid-n2', [pending('chat')])).toEqual([])
  outbox.keepOnly('uid-n1', [])
  expect(outbox.size).toBe(0)
})

test('one that fails is tried again after longer and longer waits, with what is offered by then', async (context) => {
  const { clock, outbox, woken, failures, offerOf } = prepare(context)
  const broken = vi.fn(() => Promise.reject(new Error('out of order')))
  const mended = vi.fn(async () => undefined)
  outbox.offer(offerOf('chat', broken))
  for (const [index, waitMs] of [2_000, 4_000].entries()) {
    await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
    expect(failures).toHaveLength(index + 1)
    await clock.advance(waitMs - 1)
    expect(broken).toHaveBeenCalledTimes(index + 1)
    if (index === 1) outbox.offer(offerOf('chat', mended))
    await clock.advance(1)
  }
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  expect([broken.mock.calls.length, mended.mock.calls.length]).toEqual([2, 1])
  expect(failures).toEqual(['chat 1: out of order', 'chat 2: out of order'])
})

test('what did not reach everybody is told of once, and not sent again', async (context) => {
  const { clock, outbox, woken, failures, remarks, offerOf } = prepare(context)
  const send = vi.fn(() => Promise.resolve('one has moved'))
  const offer = offerOf('mail', send)
  outbox.offer(offer)
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  outbox.offer(offer)
  await clock.advance(7_200_000)
  expect([send.mock.calls.length, remarks, failures]).toEqual([1, ['mail: one has moved'], []])
})

test('one that is no longer pending is not tried again', async (context) => {
  const { clock, outbox, offerOf } = prepare(context)
  const broken = vi.fn(() => Promise.reject(new Error('no')))
  outbox.offer(offerOf('chat', broken))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  outbox.keepOnly('uid-n1', [pending('mail')])
  await clock.advance(10_000)
  expect(broken).toHaveBeenCalledTimes(1)
})

test('two at once of each instance, and the others follow; one that hangs holds up no other', async (context) => {
  const { outbox, woken, offerOf } = prepare(context)
  const waiting: (() => void)[] = []
  const slow = () => new Promise<undefined>((resolve) => waiting.push(() => resolve(undefined)))
  for (let index = 0; index < 20; index++) outbox.offer(offerOf('chat', slow, nodeOf(`n${index}`)))
  expect(waiting).toHaveLength(2)
  const quick = vi.fn(async () => undefined)
  for (let index = 0; index < 20; index++) outbox.offer(offerOf('mail', quick, nodeOf(`n${index}`)))
  await vi.waitFor(() => expect(woken).toHaveLength(20), 10_000)
  expect([quick.mock.calls.length, waiting.length]).toEqual([20, 2])
  for (let index = 0; index < 20; index++) {
    await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(index), 10_000)
    waiting[index]?.()
  }
  await vi.waitFor(() => expect(woken).toHaveLength(40), 10_000)
})

test('after the end nothing begins any more', async (context) => {
  const { outbox, offerOf, end } = prepare(context)
  end.abort()
  const send = vi.fn(async () => undefined)
  outbox.offer(offerOf('chat', send))
  await Promise.resolve()
  expect(send).not.toHaveBeenCalled()
})

test('what is held is sent once, when it is offered again', async (context) => {
  const { clock, outbox, woken, offerOf } = prepare(context)
  let isDown = true
  const send = vi.fn(() => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(undefined)))
  outbox.offer(offerOf('chat', send))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  outbox.hold('uid-n1')
  outbox.hold('uid-n2')
  isDown = false
  await clock.advance(3_600_000)
  await Promise.resolve()
  expect([send.mock.calls.length, woken]).toEqual([1, []])
  for (let time = 0; time < 3; time++) outbox.offer(offerOf('chat', send))
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  await clock.advance(3_600_000)
  expect(send).toHaveBeenCalledTimes(2)
})

test('a hold that ends before the next try changes nothing', async (context) => {
  const { clock, outbox, woken, offerOf } = prepare(context)
  const send = vi.fn().mockRejectedValueOnce(new Error('down')).mockResolvedValue(undefined)
  outbox.offer(offerOf('chat', send))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  outbox.hold('uid-n1')
  outbox.offer(offerOf('chat', send))
  await clock.advance(2_000)
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  expect(send).toHaveBeenCalledTimes(2)
})

test('what only a person can mend is tried again once the file is another, or after an hour', async (context) => {
  const { clock, outbox, woken, failures, offerOf } = prepare(context)
  const broken = vi.fn(() => Promise.reject(new NotSent('there is no .Nam in v1.Node', false)))
  const offer = offerOf('chat', broken)
  outbox.offer(offer)
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  await clock.advance(3_599_999)
  outbox.offer(offer)
  expect(broken).toHaveBeenCalledTimes(1)
  await clock.advance(1)
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  expect(failures).toEqual([1, 2].map((attempt) => `chat ${attempt}: there is no .Nam in v1.Node`))
  const mended = vi.fn(async () => undefined)
  outbox.offer(offerOf('chat', mended))
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  await clock.advance(7_200_000)
  expect([broken.mock.calls.length, mended.mock.calls.length]).toEqual([2, 1])
})

test('what nobody mends within a day is given up, and handed back as if it was sent', async (context) => {
  const { clock, outbox, woken, failures, offerOf } = prepare(context)
  const broken = vi.fn(() => Promise.reject(new NotSent('no mail was taken: EENVELOPE (550)', false)))
  outbox.offer(offerOf('mail', broken))
  for (let hour = 1; hour <= 24; hour++) {
    await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
    expect([woken, outbox.sentOf('uid-n1', [pending('mail')])]).toEqual([[], []])
    await clock.advance(3_600_000)
  }
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  expect(outbox.sentOf('uid-n1', [pending('mail')])).toEqual([{ ...pending('mail'), sentMs: noon + 24 * 3_600_000 }])
  expect([failures.length, clock.sleeping]).toEqual([25, 0])
  // The file is mended, but it is over.
  outbox.offer(offerOf('mail', broken))
  await clock.advance(7_200_000)
  expect(broken).toHaveBeenCalledTimes(25)
})

test('what may still go by itself is tried for longer than a day', async (context) => {
  const { clock, outbox, woken, offerOf } = prepare(context)
  const send = vi.fn().mockRejectedValueOnce(new Error('down')).mockResolvedValue(undefined)
  await clock.advance(48 * 3_600_000)
  outbox.offer(offerOf('chat', send))
  await vi.waitFor(() => expect(clock.sleeping).toBe(1), 10_000)
  await clock.advance(2_000)
  await vi.waitFor(() => expect(woken).toEqual(['n1']), 10_000)
  expect(send).toHaveBeenCalledTimes(2)
})

test('the time in a message is that of its own profile, and of the moment that it is about', () => {
  const lastTransition = { profile: 'other', at: goTimeOf(noon + 5_000) }
  const pass = { lastTransition, isInMaintenance: true, isDetailed: false }
  const transition = '2026-03-01T11:00:00.000000007Z'
  expect(messageContext(nodeOf('n1'), { ...pending('chat'), transition }, pass)).toMatchObject({
    profile: 'p',
    lastProfile: 'other',
    lastTransitionText: transition,
    lastTransitionMs: Date.parse('2026-03-01T11:00:00Z') + 7e-6,
  })
  // The node has come into maintenance since, by another profile say.
  const before = { ...pending('chat'), isInMaintenance: false }
  expect(messageContext(nodeOf('n1'), before, pass)).toMatchObject({ isInMaintenance: false })
})
