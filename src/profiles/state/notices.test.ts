import { expect, test } from 'vitest'
import { createFor, noon } from '../fixture-pass.ts'
import type { State } from '../names.ts'
import type { NotifyInstance, ScheduleContext } from '../plugin.ts'
import { oneshot } from '../plugins/schedule/oneshot.ts'
import { periodic } from '../plugins/schedule/periodic.ts'
import { type GoTime, goTimeOf, zeroTime } from './go-time.ts'
import { addDue, addOverdue, letGo, type Moment, noteSent, only } from './notices.ts'
import type { Pending, Progress } from './progress.ts'

const nothing: Progress = { inFlight: {}, aborting: {}, pending: [], sent: {} }
const at = (ms: number) => goTimeOf(noon + ms)
const pending = (profile: string, ms: number, state: State = 'maintenance-required'): Pending => ({
  profile,
  instance: 'chat',
  state,
  previous: 'operational',
  at: at(ms).text,
})
/** With what is of its moment. */
const noted: Pending = { ...pending('p', 0), transition: at(0).text, isInMaintenance: false }
const chat = (isDue: (context: ScheduleContext) => boolean = () => true): NotifyInstance => ({
  name: 'chat',
  type: 'slack',
  instance: { send: async () => undefined },
  schedule: { isDue },
})
const data: Moment = {
  transition: at(0),
  current: 'maintenance-required',
  previous: 'operational',
  isInMaintenance: false,
}
const profilesOf = (ms: number) => new Map([['p', { ...data, transition: at(ms) }]])
const timesOf = (time?: GoTime) => new Map(time ? [['chat', time]] : [])

test('whoever is considered is on the list of the original, due or not, and waits once', () => {
  const times = timesOf()
  const quiet = addDue(nothing, times, [chat(() => false)], 'p', data, noon)
  expect([quiet.pending, times.get('chat')]).toEqual([[], zeroTime])
  const due = addDue(nothing, times, [chat()], 'p', data, noon)
  expect(due.pending).toEqual([noted])
  expect(addDue(due, times, [chat()], 'p', data, noon + 1).pending).toHaveLength(1)
  // In another state it is another message.
  const later = { ...data, current: 'in-maintenance', previous: 'maintenance-required' }
  expect(addDue(due, times, [chat()], 'p', later, noon + 1).pending).toHaveLength(2)
})

test.for<[string, Progress, GoTime | undefined, number | undefined]>([
  ['nobody ever sent it', nothing, undefined, undefined],
  ['the original never sent it', nothing, zeroTime, undefined],
  ['the original sent it', nothing, at(-5), noon - 5],
  ['we sent it', { ...nothing, sent: { p: { chat: at(-3).text } } }, at(-3), noon - 3],
  ['we sent it for another profile', { ...nothing, sent: { q: { chat: at(-3).text } } }, at(-3), undefined],
  ['the original sent it after us', { ...nothing, sent: { p: { chat: at(-9).text } } }, at(-2), noon - 2],
])('when it was sent last: %s', ([, progress, shared, expected]) => {
  let seen: number | undefined
  const spy = chat(({ lastSentMs }) => {
    seen = lastSentMs
    return false
  })
  addDue(progress, timesOf(shared), [spy], 'p', data, noon)
  expect(seen).toBe(expected)
})

test('what was sent is noted in both places, and others keep waiting', () => {
  const times = timesOf(zeroTime)
  const progress = { ...nothing, pending: [pending('p', 0), pending('q', 0)] }
  const after = noteSent(progress, times, [{ ...noted, sentMs: noon + 7 }], profilesOf(0))
  expect(after.pending).toEqual([pending('q', 0)])
  expect([after.sent, times.get('chat')]).toEqual([{ p: { chat: at(7).text } }, at(7)])
})

test.for<[string, Pending, GoTime, GoTime]>([
  ['of the state that the profile is in', noted, zeroTime, at(7)],
  ['of a state that was left', { ...noted, transition: at(-9).text }, zeroTime, at(0)],
  ['of a version that did not say which stay it is about', pending('p', 0), zeroTime, at(0)],
  ['of a state that was left, and the original has sent it since', { ...noted, transition: at(-9).text }, at(3), at(3)],
])('a message %s counts', ([, message, before, expected]) => {
  const times = timesOf(before)
  noteSent({ ...nothing, pending: [message] }, times, [{ ...message, sentMs: noon + 7 }], profilesOf(0))
  expect(times.get('chat')).toEqual(expected)
})

test('what is sent after the state was left is no message of the next one, and takes nothing back', () => {
  const schedule = createFor(oneshot, { delay: 1_000 })
  const tell = { ...chat(), schedule }
  const times = timesOf()
  const left = addDue(nothing, times, [tell], 'p', data, noon + 1_000)
  const inside = { ...data, transition: at(2_000), current: 'in-maintenance', previous: 'in-maintenance' }
  const now = new Map([['p', inside]])
  const late = left.pending.map((one) => ({ ...one, sentMs: noon + 2_500 }))
  const next = addDue(noteSent(left, times, late, now), times, [tell], 'p', inside, noon + 3_000)
  expect(next.pending).toMatchObject([{ state: 'in-maintenance', at: at(3_000).text }])
  // The newer one goes first.
  const both = addDue(left, times, [tell], 'p', inside, noon + 3_000)
  const [older, newer] = both.pending.map((one) => ({ ...one, sentMs: noon + 4_000 }))
  if (!(older && newer)) throw new Error('two should wait')
  const done = noteSent(noteSent(both, times, [newer], now), times, [older], now)
  expect([done.sent, times.get('chat')]).toEqual([{ p: { chat: at(4_000).text } }, at(4_000)])
  expect(addDue(done, times, [tell], 'p', inside, noon + 9_000).pending).toEqual([])
})

test('one that repeats does not follow at once on one that waited for long', () => {
  const tell = { ...chat(), schedule: createFor(periodic, { interval: 1_000 }) }
  const times = timesOf()
  const waiting = addDue(nothing, times, [tell], 'p', data, noon)
  const late = waiting.pending.map((one) => ({ ...one, sentMs: noon + 5_000 }))
  const sent = noteSent(waiting, times, late, profilesOf(0))
  const stays = { ...data, previous: data.current }
  expect(addDue(sent, times, [tell], 'p', stays, noon + 5_999).pending).toEqual([])
  expect(addDue(sent, times, [tell], 'p', stays, noon + 6_000).pending).toHaveLength(1)
})

test.for<[string, GoTime, Progress['sent'], boolean, number]>([
  ['nobody has sent it', zeroTime, {}, true, 1],
  ['the original has sent something before', at(-1), {}, true, 1],
  ['the original has sent it since', at(1), {}, true, 0],
  ['we have sent it for another profile since', at(1), { q: { chat: at(1).text } }, true, 1],
  ['the file no longer has it', zeroTime, {}, false, 0],
])('a message that waits, when %s', ([, shared, sent, isKnown, left]) => {
  const progress = { ...nothing, sent, pending: [pending('p', 0)] }
  expect(letGo(progress, timesOf(shared), () => isKnown).pending).toHaveLength(left)
})

test('too long in a state is told once per stay', () => {
  const state = { enter: [], notify: [], transitions: [], deadlineMs: 1_000, overdue: [chat()] }
  const early = addOverdue(nothing, state, 'p', data, noon + 1_000)
  expect([early.isOverdue, early.isNew]).toEqual([false, false])
  const late = addOverdue(nothing, state, 'p', data, noon + 1_001)
  expect([late.isOverdue, late.isNew, late.progress.pending.length]).toEqual([true, true, 1])
  const again = addOverdue(late.progress, state, 'p', data, noon + 5_000)
  expect([again.isOverdue, again.isNew]).toEqual([true, false])
  const nextStay = { ...data, transition: at(60_000) }
  expect(addOverdue(late.progress, state, 'p', nextStay, noon + 120_000).isNew).toBe(true)
  const sameName = { ...nothing, sent: { p: { overdue: at(500).text } } }
  expect(addOverdue(sameName, state, 'p', data, noon + 1_001).isNew, 'an instance may be called overdue').toBe(true)
})

test('more than twenty do not wait, and nothing of a profile that is gone', () => {
  const many = Array.from({ length: 20 }, (_, index) => pending('q', index))
  const progress = addDue(
    { ...nothing, pending: many, sent: { q: { chat: at(0).text } } },
    timesOf(),
    [chat()],
    'p',
    data,
    noon,
  )
  expect(progress.pending).toHaveLength(20)
  expect(progress.pending.at(-1)?.profile).toBe('p')
  expect(only(progress, new Set(['p']), timesOf(at(1)))).toEqual({ ...nothing, pending: [noted] })
})

test('when a profile that is gone was the last to send, that stays known: nobody else is silenced by it', () => {
  const marks = { chat: at(5).text, mail: at(5).text, '&&overdue': at(5).text }
  const progress = { ...nothing, pending: [pending('p', 0)], sent: { q: marks, r: { chat: at(4).text } } }
  const times = timesOf(at(5))
  const left = only(progress, new Set(['p']), times)
  expect(left.sent).toEqual({ q: { chat: at(5).text } })
  expect(letGo(left, times, () => true).pending).toHaveLength(1)
})
