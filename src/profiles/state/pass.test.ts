import { expect, test } from 'vitest'
import { nodeOf } from '../fixture-pass.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../names.ts'
import type { ClusterView } from '../plugin.ts'
import { instances, Machine, steps } from './fixture-machine.ts'
import { historyAnnotation, progressAnnotation, readHistory, readProgress } from './progress.ts'
import { abortAnnotation, abortReasonAnnotation, pauseAnnotation } from './verbs.ts'

const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const
const file = (...profiles: readonly string[]) => `${instances}profiles:\n${profiles.join('')}`
const to = file(steps('p', [[op, 'go', inside]]))

test('a node without labels is operational, by the profile that always exists', async () => {
  const machine = new Machine(instances)
  const { patch, events } = await machine.pass()
  expect(machine.label(stateLabel)).toBe(op)
  expect(JSON.parse(machine.node.metadata.annotations?.[dataAnnotation] ?? '')).toEqual({
    Profiles: { default: { Transition: '2026-03-01T12:00:01Z', Current: op, Previous: op } },
    Notifications: {},
  })
  expect(patch).toBeDefined()
  expect(events).toEqual([])
  expect((await machine.pass()).patch, 'nothing is written when nothing changes').toBeUndefined()
})

test('a transition runs its triggers, stores its state, and tells it once; the state after it is entered once', async () => {
  const profile = steps(
    'p',
    [[op, 'go', required, 'mark']],
    `  maintenance-required:\n    enter: t1\n    notify: tell\n`,
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  const { events, result } = await machine.pass()
  expect([machine.state('p'), machine.label(stateLabel), machine.label('altered')]).toEqual([required, required, 'yes'])
  expect(events).toEqual([{ is: 'Changed', profile: 'p', from: op, to: required }])
  expect(result.profiles[0]).toMatchObject({ state: op, next: required })
  expect(machine.ran).toEqual(['go'])
  const entered = await machine.pass()
  expect(machine.ran).toEqual(['go', 't1'])
  expect(entered.pending).toMatchObject([{ profile: 'p', instance: 'tell', state: required, previous: op }])
  await machine.passes(2)
  expect(machine.ran).toEqual(['go', 't1'])
  expect(readHistory(machine.node.metadata.annotations?.[historyAnnotation])).toMatchObject([
    { profile: 'p', from: op, to: required, why: 'go' },
  ])
})

test.for([
  ['nothing to do', '', [false, false, true]],
  ['something to do', '    enter: t1\n', [false, false, false]],
  ['somebody to tell', '    notify: tell\n', [false, false, false]],
] as const)('a state with %s: whether what a pass found can wait', async ([, inState, expected]) => {
  const profile = steps('p', [[op, 'go', required]], `  maintenance-required:\n${inState}    transitions: []\n`)
  const machine = new Machine(file(profile), { label: 'p' })
  const found = [await machine.pass()]
  machine.on.add('go')
  found.push(await machine.pass(), await machine.pass())
  expect(found.map(({ canWait }) => canWait)).toEqual(expected)
  expect(found.every(({ patch }) => patch !== undefined)).toBe(true)
})

test.for([
  ['does-not-exist--p', ['p']],
  ['p--other1--other2', ['p']],
  ['p--p', ['p']],
  ['nobody', []],
  ['--p--', ['p']],
] as const)('label %s selects %j', async ([label, expected]) => {
  const machine = new Machine(to, { label })
  const { result } = await machine.pass()
  expect(result.profiles.map(({ name }) => name)).toEqual(expected)
  const stored = JSON.parse(machine.node.metadata.annotations?.[dataAnnotation] ?? '') as { Profiles: object }
  expect(Object.keys(stored.Profiles)).toEqual(expected)
  expect(machine.label(stateLabel)).toBe(op)
})

test('only one profile takes a node into maintenance, also in one pass, and the other says which', async () => {
  const machine = new Machine(file(steps('a', [[op, 'go', inside]]), steps('b', [[op, 'go', inside]])), {
    label: 'a--b',
  })
  machine.on.add('go')
  const { result, events } = await machine.pass()
  expect([machine.state('a'), machine.state('b')]).toEqual([inside, op])
  expect(events).toHaveLength(1)
  expect(result.profiles[1]).toMatchObject({
    waitsFor: 'profile a has the node in maintenance',
    transitions: [{ isPassed: false, chain: { isPassed: true } }],
  })
})

test('blocked and multi: the state of the node is the highest of its profiles', async () => {
  const block = steps('block', [
    [op, 'a', required],
    [required, '!a', inside],
  ])
  const multi = steps('multi', [
    [op, 'a', required],
    [required, 'a', inside],
  ])
  const machine = new Machine(file(block, multi), { label: 'block--multi' })
  machine.on.add('a')
  await machine.passes(3)
  expect([machine.state('block'), machine.state('multi')]).toEqual([required, inside])
  expect(machine.label(stateLabel)).toBe(inside)
  machine.relabel({ [profileLabel]: 'block' })
  const { events } = await machine.pass()
  expect(events).toEqual([{ is: 'Dropped', profile: 'multi', state: inside }])
  expect(machine.label(stateLabel)).toBe(required)
  expect(machine.state('multi')).toBeUndefined()
})

test('what fails in one profile takes nothing from the others', async () => {
  const machine = new Machine(file(steps('a', [[op, 'go', required]]), steps('b', [[op, 'b', required]])), {
    label: 'a--b',
  })
  machine.on.add('go')
  machine.broken.add('b')
  const { result, events } = await machine.pass()
  expect([machine.state('a'), machine.state('b')]).toEqual([required, op])
  expect(result.profiles[1]?.failure).toEqual({ stage: 'check', cause: 'b: b cannot tell' })
  expect(events.map(({ is, profile }) => [is, profile])).toEqual([
    ['Changed', 'a'],
    ['Failed', 'b'],
  ])
  expect((await machine.pass()).events.map(({ is }) => is)).toEqual(['Failed'])
})

test('every check of every transition is asked, and one that cannot tell stops the profile', async () => {
  const profile = steps('p', [
    [op, 'go', required],
    [op, 'a || b', inside],
  ])
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  machine.broken.add('b')
  const { result } = await machine.pass()
  expect(machine.ran).toEqual(['go', 'a', 'b'])
  expect(machine.state('p')).toBe(op)
  expect(result.profiles[0]?.transitions[1]?.chain).toMatchObject({ isPassed: false, error: 'b: b cannot tell' })
})

test('of two transitions to one state, the triggers of the one that passed run; a name with a hyphen is a name', async () => {
  const profile = steps('p', [
    [op, 'a', inside, 't1'],
    [op, 're-go', inside, 't2'],
  ])
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('re-go')
  await machine.passes(2)
  expect(machine.ran.filter((name) => name.startsWith('t'))).toEqual(['t2'])
  expect(machine.state('p')).toBe(inside)
})

test('a transition whose trigger needs time is resumed, though its checks no longer pass, and its lease is taken once', async () => {
  const profile = steps('p', [[op, 'go && lease', inside, 'mark && t1 && unmark && t2']])
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  machine.busy.add('t1')
  const { result } = await machine.pass()
  expect(result.profiles[0]?.waitsFor).toBe('the way to in-maintenance begins')
  expect([machine.taken, machine.ran], 'nothing outside happens before it is stored').toEqual([[], ['go']])
  machine.on.delete('go')
  await machine.passes(2)
  expect([machine.state('p'), machine.label('altered')]).toEqual([op, 'yes'])
  expect(readProgress(machine.node.metadata.annotations?.[progressAnnotation]).inFlight).toMatchObject({
    p: { from: op, next: inside, trigger: 1, isTaken: true },
  })
  machine.busy.clear()
  const { events } = await machine.pass()
  expect(events).toEqual([{ is: 'Changed', profile: 'p', from: op, to: inside }])
  expect(machine.taken).toEqual(['lease'])
  expect(machine.ran).toEqual(['go', 't1', 't1', 't1', 't2'])
  expect([machine.state('p'), machine.label('altered')]).toEqual([inside, undefined])
  expect(machine.node.metadata.annotations?.[progressAnnotation]).toBeUndefined()
})

test('who is on the way into maintenance keeps other profiles of the node out', async () => {
  const machine = new Machine(file(steps('a', [[op, 'go', inside, 't1']]), steps('b', [[op, 'go', inside]])), {
    label: 'a--b',
  })
  machine.on.add('go')
  machine.busy.add('t1')
  await machine.passes(3)
  expect([machine.state('a'), machine.state('b')]).toEqual([op, op])
  machine.busy.clear()
  await machine.pass()
  expect([machine.state('a'), machine.state('b')]).toEqual([inside, op])
})

test('a way that the file no longer has is given up, and checks decide anew', async () => {
  const machine = new Machine(to, { label: 'p' })
  await machine.pass()
  const lost = { from: op, next: required, check: 'go', triggers: [], trigger: 0, since: '2026-03-01T12:00:00Z' }
  machine.annotate({ [progressAnnotation]: JSON.stringify({ inFlight: { p: lost } }) })
  const { events } = await machine.pass()
  expect(events).toMatchObject([{ is: 'Lost', profile: 'p', next: required }])
  machine.on.add('go')
  await machine.pass()
  expect(machine.state('p')).toBe(inside)
})

test.for<[string, readonly Parameters<typeof steps>[1][number][], boolean]>([
  [
    'another way to the same state comes before it',
    [
      [op, 'a', inside, 't2'],
      [op, 'go', inside, 'mark && t1'],
    ],
    true,
  ],
  ['it has other checks', [[op, 'go && a', inside, 'mark && t1']], true],
  ['its triggers are in another order', [[op, 'go', inside, 't1 && mark']], false],
  ['the trigger that it was at is not there', [[op, 'go', inside, 'mark && t2']], false],
  ['it has more triggers', [[op, 'go', inside, 'mark && t1 && t2']], false],
  ['it leads elsewhere', [[op, 'go', required, 'mark && t1']], false],
])('a way is resumed by what it does, not by its place in the file: %s', async ([, transitions, isResumed]) => {
  const before = new Machine(file(steps('p', [[op, 'go', inside, 'mark && t1']])), { label: 'p' })
  before.on.add('go')
  before.busy.add('t1')
  await before.passes(2)
  const after = new Machine(file(steps('p', transitions)), { node: before.node })
  const { events } = await after.pass()
  expect(events).toMatchObject([{ is: isResumed ? 'Changed' : 'Lost', profile: 'p' }])
  expect([after.state('p'), after.ran.filter((name) => name.startsWith('t'))]).toEqual(
    isResumed ? [inside, ['t1']] : [op, []],
  )
})

test('a way that has yet to take its lease is given up when its checks are others', async () => {
  const before = new Machine(file(steps('p', [[op, 'go && lease', inside, 't1']])), { label: 'p' })
  before.on.add('go')
  await before.pass()
  const after = new Machine(file(steps('p', [[op, 'go', inside, 't1']])), { node: before.node })
  expect((await after.pass()).events).toMatchObject([{ is: 'Lost', profile: 'p' }])
  expect([after.taken, after.ran, after.state('p')]).toEqual([[], [], op])
})

test('a way from before somebody else led is given up, and one that began since is resumed', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside, 't1']])), { label: 'p' })
  machine.on.add('go')
  machine.busy.add('t1')
  await machine.passes(2)
  machine.on.delete('go')
  const aloneSinceMs = machine.nowMs + 500
  const { events } = await machine.pass({ aloneSinceMs })
  const why = 'maintenance-controller has led meanwhile'
  expect(events).toEqual([{ is: 'Lost', profile: 'p', next: inside, why }])
  machine.on.add('go')
  await machine.pass({ aloneSinceMs })
  machine.busy.clear()
  await machine.pass({ aloneSinceMs })
  expect(machine.state('p')).toBe(inside)
})

test('a way that was begun before somebody else changed the state and changed it back is given up', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside, 't1']])), { label: 'p' })
  machine.on.add('go')
  machine.busy.add('t1')
  await machine.passes(2)
  machine.on.delete('go')
  const entry = { Transition: '2026-03-02T12:00:00Z', Current: op, Previous: op }
  machine.annotate({ [dataAnnotation]: JSON.stringify({ Profiles: { p: entry }, Notifications: {} }) })
  const { events } = await machine.pass()
  expect(events).toMatchObject([{ is: 'Lost', profile: 'p', next: inside }])
  machine.busy.clear()
  await machine.pass()
  expect(machine.state('p')).toBe(op)
})

test('an abort of a profile that the file no longer has is carried out at once, not when the profile is back', async () => {
  const machine = new Machine(to, { label: 'gone' })
  const entry = { Transition: '2026-03-01T12:00:00Z', Current: inside, Previous: inside }
  machine.annotate({
    [dataAnnotation]: JSON.stringify({ Profiles: { gone: entry }, Notifications: {} }),
    [abortAnnotation]: 'gone',
    [abortReasonAnnotation]: 'disk replaced',
  })
  const { events } = await machine.pass()
  expect(events).toEqual([{ is: 'Aborted', profile: 'gone', from: inside }])
  expect(machine.state('gone')).toBe(op)
  const { annotations = {} } = machine.node.metadata
  expect([annotations[abortAnnotation], annotations[abortReasonAnnotation]]).toEqual([undefined, undefined])
  expect(readHistory(annotations[historyAnnotation])).toMatchObject([
    { profile: 'gone', why: 'aborted: disk replaced' },
  ])
})

test('a message says whether the node was in maintenance when its pass began, not what came of the pass', async () => {
  const profile = steps(
    'p',
    [[op, 'go', required]],
    '  maintenance-required:\n    notify: tell\n    transitions: [{check: go, next: in-maintenance}]\n' +
      '  in-maintenance:\n    notify: tell\n    transitions: [{check: back, next: operational}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go').add('back')
  await machine.pass()
  const entered = await machine.pass()
  expect([machine.state('p'), entered.pending]).toMatchObject([inside, [{ state: required, isInMaintenance: false }]])
  const left = await machine.pass()
  expect([machine.state('p'), left.pending]).toMatchObject([
    op,
    [
      { state: required, isInMaintenance: false },
      { state: inside, isInMaintenance: true },
    ],
  ])
})

test('a profile that the file no longer has keeps nobody out, and what it had under way is given up', async () => {
  const machine = new Machine(to, { label: 'gone--left--p' })
  const entry = { Transition: '2026-03-01T12:00:00Z', Current: inside, Previous: inside }
  const way = { from: op, next: inside, check: 'go', triggers: [], trigger: 0, since: '2026-03-01T12:00:00Z' }
  machine.annotate({
    [dataAnnotation]: JSON.stringify({ Profiles: { gone: entry, left: { ...entry, Current: op } }, Notifications: {} }),
    [progressAnnotation]: JSON.stringify({ inFlight: { left: way } }),
  })
  machine.on.add('go')
  const { events, occupants } = await machine.pass()
  expect(events).toMatchObject([
    { is: 'Lost', profile: 'left' },
    { is: 'Changed', profile: 'p', to: inside },
  ])
  expect([occupants, machine.state('gone')]).toEqual([['p'], inside])
})

test('a trigger that fails undoes what its chain did to the node, and is tried again', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside, 'mark && t1']])), { label: 'p' })
  machine.on.add('go')
  machine.broken.add('t1')
  await machine.pass()
  const { result } = await machine.pass()
  expect(result.profiles[0]?.failure).toEqual({ stage: 'trigger', cause: 't1: t1 cannot be done' })
  expect([machine.state('p'), machine.label('altered')]).toEqual([op, undefined])
  machine.broken.clear()
  await machine.pass()
  expect([machine.state('p'), machine.label('altered')]).toEqual([inside, 'yes'])
})

test('entering that needs time holds the profile: no messages and no checks until it is done', async () => {
  const profile = steps(
    'p',
    [[op, 'go', inside]],
    '  in-maintenance:\n    enter: mark && t1\n    notify: tell\n    transitions: [{check: back, next: operational}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go').add('back')
  machine.busy.add('t1')
  await machine.passes(4)
  expect([machine.state('p'), machine.label('altered')]).toEqual([inside, 'yes'])
  expect(machine.ran).toEqual(['go', 't1', 't1', 't1'])
  const { pending } = await machine.pass()
  expect(pending).toEqual([])
  machine.busy.clear()
  const { result } = await machine.pass()
  expect(result.profiles[0]?.next).toBe(op)
})

test('entering that fails is told, undone and tried again: no messages and no checks before it is done', async () => {
  const profile = steps(
    'p',
    [[op, 'go', inside]],
    '  in-maintenance:\n    enter: mark && t1\n    notify: tell\n    transitions: [{check: back, next: operational}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go').add('back')
  machine.broken.add('t1')
  await machine.passes(2)
  const { result, events, pending } = await machine.pass()
  const failure = { stage: 'enter', cause: 't1: t1 cannot be done' }
  expect(result.profiles[0]).toMatchObject({ state: inside, next: inside, transitions: [], failure })
  expect(events).toEqual([{ is: 'Failed', profile: 'p', state: inside, failure }])
  expect([pending, machine.label('altered'), machine.ran]).toEqual([[], undefined, ['go', 't1', 't1']])
  machine.broken.clear()
  expect((await machine.pass()).result.profiles[0]?.next).toBe(op)
  expect(machine.label('altered')).toBe('yes')
})

test('without a way out, or with one that does not pass, a profile stays, and that is no failure', async () => {
  const machine = new Machine(file(steps('none', []), steps('one', [[op, 'a', inside]])), { label: 'none--one' })
  const { result } = await machine.pass()
  expect(result.profiles).toEqual([
    { name: 'none', state: op, next: op, transitions: [] },
    {
      name: 'one',
      state: op,
      next: op,
      transitions: [
        {
          target: inside,
          isPassed: false,
          chain: {
            expression: 'a',
            isPassed: false,
            checks: [{ name: 'a', type: 'turn', isPassed: false, info: {} }],
          },
        },
      ],
    },
  ])
})

test("the controller's own label and data are what it says, whatever a trigger writes there", async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside, 'own-label && own-data']])), { label: 'p' })
  machine.on.add('go')
  await machine.pass()
  expect([machine.state('p'), machine.label(stateLabel)]).toEqual([inside, inside])
})

test('a check that cannot tell after entering neither enters again nor tells again', async () => {
  const profile = steps(
    'p',
    [[op, 'go', required]],
    '  maintenance-required:\n    enter: mark && t1\n    notify: tell\n    transitions: [{check: b, next: in-maintenance}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  machine.broken.add('b')
  await machine.passes(2)
  const first = readProgress(machine.node.metadata.annotations?.[progressAnnotation]).pending
  expect(first).toHaveLength(1)
  machine.sent = first.map((one) => ({ ...one, sentMs: machine.nowMs }))
  await machine.passes(3)
  expect(machine.ran.filter((name) => name === 't1')).toHaveLength(1)
  expect(machine.label('altered')).toBe('yes')
  expect(readProgress(machine.node.metadata.annotations?.[progressAnnotation]).pending).toEqual([])
})

test('what was sent is noted in both places, and a shared instance tells of each profile', async () => {
  const each = (name: string) =>
    steps(name, [[op, 'go', required]], '  maintenance-required:\n    notify: tell\n    transitions: []\n')
  const machine = new Machine(file(each('a'), each('b')), { label: 'a--b' })
  machine.on.add('go')
  await machine.passes(2)
  const { pending } = readProgress(machine.node.metadata.annotations?.[progressAnnotation])
  expect(pending.map(({ profile }) => profile)).toEqual(['a', 'b'])
  machine.sent = pending.slice(0, 1).map((one) => ({ ...one, sentMs: machine.nowMs }))
  await machine.pass()
  const after = readProgress(machine.node.metadata.annotations?.[progressAnnotation])
  expect(after.pending.map(({ profile }) => profile)).toEqual(['b'])
  expect(after.sent).toEqual({ a: { tell: '2026-03-01T12:00:02Z' } })
  expect(machine.node.metadata.annotations?.[dataAnnotation]).toContain(
    '"Notifications":{"tell":"2026-03-01T12:00:02Z"}',
  )
})

test('of two that share an instance, the one whose message waits is told of when the other has left', async () => {
  const each = (name: string) =>
    steps(name, [[op, 'go', required]], '  maintenance-required:\n    notify: tell\n    transitions: []\n')
  const machine = new Machine(file(each('p'), each('q')), { label: 'p--q' })
  const pendingNow = () => readProgress(machine.node.metadata.annotations?.[progressAnnotation]).pending
  machine.on.add('go')
  await machine.passes(2)
  machine.sent = pendingNow()
    .filter(({ profile }) => profile === 'q')
    .map((one) => ({ ...one, sentMs: machine.nowMs }))
  await machine.pass()
  machine.relabel({ [profileLabel]: 'p' })
  await machine.passes(3)
  expect(pendingNow().map(({ profile }) => profile)).toEqual(['p'])
  machine.sent = pendingNow().map((one) => ({ ...one, sentMs: machine.nowMs }))
  await machine.passes(2)
  const { pending, sent } = readProgress(machine.node.metadata.annotations?.[progressAnnotation])
  expect([pending, Object.keys(sent)], 'the one that is gone is forgotten').toEqual([[], ['p']])
})

test('a message that is sent after its state was left counts from when it was due', async () => {
  const tells = (state: string, more: string) => `  ${state}:\n    notify: tell\n    transitions: ${more}\n`
  const profile = steps(
    'p',
    [[op, 'go', required]],
    tells(required, `[{check: a, next: ${inside}}]`) + tells(inside, '[]'),
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  await machine.passes(2)
  machine.on.add('a')
  await machine.pass()
  const { pending } = readProgress(machine.node.metadata.annotations?.[progressAnnotation])
  machine.sent = pending.map((one) => ({ ...one, sentMs: machine.nowMs + 500 }))
  await machine.pass()
  expect(machine.state('p')).toBe(inside)
  expect(machine.node.metadata.annotations?.[dataAnnotation]).toContain(
    '"Notifications":{"tell":"2026-03-01T12:00:02Z"}',
  )
})

test('a transition to the same state does nothing, not even take', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go && lease', op, 't1']])), { label: 'p' })
  machine.on.add('go')
  await machine.pass()
  const { patch, events } = await machine.pass()
  expect([patch, events, machine.taken, machine.ran]).toEqual([undefined, [], [], ['go', 'go']])
})

test('a trigger may send the node to another profile', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside, 'rename']]), steps('other', [])), { label: 'p' })
  machine.on.add('go')
  await machine.passes(2)
  expect(machine.state('other')).toBe(op)
  expect(machine.state('p')).toBeUndefined()
  expect(machine.label(stateLabel)).toBe(op)
})

test('a freeze, or whatever else says no, keeps nodes out of maintenance alone, and the chain still shows as passed', async () => {
  const machine = new Machine(
    file(
      steps('p', [
        [op, 'go', required],
        [required, 'go', inside],
        [inside, 'back', op],
      ]),
    ),
    {
      label: 'p',
    },
  )
  machine.on.add('go')
  machine.whyNot = 'frozen'
  await machine.passes(2)
  const { result } = await machine.pass()
  expect(machine.state('p')).toBe(required)
  expect(result.profiles[0]).toMatchObject({
    waitsFor: 'frozen',
    transitions: [{ isPassed: false, chain: { isPassed: true } }],
  })
})

test('while it is paused nothing is decided; unreadable data is left alone and told', async () => {
  const machine = new Machine(to, { label: 'p' })
  machine.on.add('go')
  machine.annotate({ [pauseAnnotation]: 'audit' })
  const { result, patch } = await machine.pass()
  expect([result.problem, patch, machine.ran]).toEqual(['paused: audit', undefined, []])
  machine.annotate({ [pauseAnnotation]: null, [dataAnnotation]: '{{}' })
  const broken = await machine.pass()
  expect(broken.patch).toBeUndefined()
  expect(broken.result.problem).toContain('cannot be read')
})

test('abort runs the chain for it, forgets what was under way, and ends operational', async () => {
  const profile = steps('p', [[op, 'go', inside, 'mark && t1']], '  abort: unmark && t2\n')
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  machine.busy.add('t1').add('t2')
  await machine.passes(2)
  expect(machine.label('altered')).toBe('yes')
  machine.on.delete('go')
  machine.annotate({ [abortAnnotation]: 'p' })
  await machine.passes(2)
  expect(machine.node.metadata.annotations?.[abortAnnotation], 'its chain is not done').toBe('p')
  machine.busy.clear()
  const { events } = await machine.pass()
  expect(events).toEqual([{ is: 'Aborted', profile: 'p', from: op }])
  expect(machine.node.metadata.annotations?.[abortAnnotation]).toBeUndefined()
  await machine.pass()
  expect([machine.state('p'), machine.label('altered'), machine.ran.at(-1)]).toEqual([op, undefined, 'go'])
})

test('an abort whose chain needs time knows when it began, also after a restart; the next one begins anew', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside]], '  abort: t1\n')), { label: 'p' })
  machine.on.add('go')
  await machine.pass()
  machine.busy.add('t1')
  machine.annotate({ [abortAnnotation]: 'p' })
  await machine.pass()
  const began = machine.nowMs
  await machine.passes(3)
  expect(machine.sinceMs).toBe(began)
  // Who takes the abort back and says it again begins again.
  machine.annotate({ [abortAnnotation]: null })
  await machine.pass()
  expect(machine.node.metadata.annotations?.[progressAnnotation]).toBeUndefined()
  machine.annotate({ [abortAnnotation]: 'p' })
  await machine.pass()
  expect(machine.sinceMs).toBe(machine.nowMs)
  machine.busy.clear()
  await machine.pass()
  expect(machine.state('p')).toBe(op)
  expect(machine.node.metadata.annotations?.[progressAnnotation]).toBeUndefined()
})

test('an abort of a profile that the label no longer names is forgotten, or it would hit the next one of that name', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside]]), steps('q', [])), { label: 'q' })
  machine.annotate({ [abortAnnotation]: 'p', [abortReasonAnnotation]: 'a mistake' })
  await machine.pass()
  expect(machine.node.metadata.annotations).not.toHaveProperty([abortAnnotation])
  expect(machine.node.metadata.annotations).not.toHaveProperty([abortReasonAnnotation])
})

test('who takes a node into maintenance is told once, before anything has made its pods leave', async () => {
  const machine = new Machine(
    file(
      steps('quick', [
        [op, 'a', inside],
        [inside, 'back && lease', op, 't2'],
      ]),
      steps('slow', [[op, 'go && lease', inside, 't1']]),
    ),
    { label: 'quick--slow' },
  )
  const entering = async () => (await machine.pass()).entering
  machine.on.add('a')
  expect([await entering(), await entering()]).toEqual([['quick'], []])
  machine.on.delete('a')
  machine.on.add('back')
  machine.busy.add('t2')
  expect([await entering(), await entering()], 'it goes back').toEqual([[], []])
  machine.busy.clear()
  expect(await entering()).toEqual([])
  expect(machine.state('quick')).toBe(op)
  machine.taken.length = 0
  machine.on.add('go')
  machine.busy.add('t1')
  expect(await entering(), 'its Lease is not taken yet').toEqual([])
  machine.taken.push('lease')
  expect(await entering(), 'somebody else was first').toEqual([])
  machine.taken.length = 0
  expect([await entering(), await entering(), await entering()]).toEqual([[], ['slow'], []])
  machine.busy.clear()
  expect(await entering()).toEqual([])
  expect(machine.state('slow')).toBe(inside)
})

test('who stays too long in a state is told of once per stay', async () => {
  const profile = steps(
    'p',
    [[op, 'go', required]],
    '  maintenance-required:\n    deadline: 3s\n    overdue: tell\n    transitions: [{check: back, next: operational}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  await machine.passes(3)
  const events = [...(await machine.pass()).events, ...(await machine.pass()).events, ...(await machine.pass()).events]
  expect(events).toMatchObject([{ is: 'Overdue', profile: 'p', state: required }])
  const { pending } = readProgress(machine.node.metadata.annotations?.[progressAnnotation])
  expect(pending).toMatchObject([{ instance: 'tell', state: required }])
  expect((await machine.pass()).result.profiles[0]?.isOverdue).toBe(true)
})

test('a dry run finds the same and touches nothing outside', async () => {
  const profile = steps('p', [[op, 'go && lease', inside, 't1']])
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go')
  const { result } = await machine.pass({ isDryRun: true })
  expect(result.profiles[0]?.waitsFor).toBe('the way to in-maintenance begins')
  await machine.pass({ isDryRun: true })
  expect([machine.taken, machine.ran]).toEqual([[], ['go']])
})

test('a stored state that is none is told, and left alone', async () => {
  const machine = new Machine(to, { label: 'p' })
  machine.annotate({
    [dataAnnotation]: '{"Profiles":{"p":{"Transition":"2024-01-02T03:04:05Z","Current":"","Previous":""}}}',
  })
  const { events } = await machine.pass()
  expect(events).toMatchObject([{ is: 'Failed', failure: { stage: 'state' } }])
  expect(machine.state('p')).toBe('')
  expect(events[0]).toMatchObject({
    failure: { cause: expect.stringContaining('fettle profiles abort n1 --profile p') },
  })
})

test('a stored state that is none is left by an abort, with what the file has for it', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go', inside]], '  abort: t1\n')), { label: 'p' })
  machine.annotate({
    [dataAnnotation]: '{"Profiles":{"p":{"Transition":"2024-01-02T03:04:05Z","Current":"lost","Previous":"lost"}}}',
    [abortAnnotation]: 'p',
    [abortReasonAnnotation]: 'a slip',
  })
  const { events } = await machine.pass()
  expect(events).toEqual([{ is: 'Aborted', profile: 'p', from: 'lost' }])
  expect([machine.state('p'), machine.ran]).toEqual([op, ['t1']])
  expect(readHistory(machine.node.metadata.annotations?.[historyAnnotation])).toMatchObject([
    { profile: 'p', from: 'lost', to: op, why: 'aborted: a slip' },
  ])
  machine.on.add('go')
  await machine.pass()
  expect(machine.state('p')).toBe(inside)
})

test('a message tells of its own profile: when that came into its state, also when it is sent late', async () => {
  const a = steps('a', [[op, 'a', required]], '  maintenance-required:\n    notify: tell\n    transitions: []\n')
  const machine = new Machine(file(a, steps('b', [[op, 'b', required]])), { label: 'a--b' })
  await machine.pass()
  machine.on.add('a')
  await machine.pass()
  const changed = new Date(machine.nowMs).toISOString().replace('.000Z', 'Z')
  machine.on.add('b')
  const due = await machine.pass()
  expect(due.pending).toMatchObject([{ profile: 'a', transition: changed }])
  expect(due.lastTransition).toMatchObject({ profile: 'b' })
  // Later looks offer it as it was.
  expect((await machine.pass()).pending).toEqual(due.pending)
  // An entry of a version before this one has no time of its own: its profile's is the nearest.
  const old = due.pending.map((one) => ({ ...one, transition: undefined }))
  machine.annotate({ [progressAnnotation]: JSON.stringify({ pending: old }) })
  expect((await machine.pass()).pending).toMatchObject([{ profile: 'a', transition: changed }])
})

test('whoever waits to be let in asks nobody outside again', async () => {
  const machine = new Machine(file(steps('p', [[op, 'go && far && room', inside]])), { label: 'p' })
  machine.on.add('go').add('far')
  const admit = async (_: string, whyRefused: (cluster: ClusterView) => Promise<string | undefined>) => {
    machine.deaf.add('far')
    const other = nodeOf('n2', { labels: { [stateLabel]: inside } })
    const refused = await whyRefused({ nodes: () => [other], podsOn: () => [] })
    expect(await whyRefused({ nodes: () => [], podsOn: () => [] })).toBeUndefined()
    return refused
  }
  const { result } = await machine.pass({ admit })
  expect(result.profiles[0]?.waitsFor).toBe('other nodes were first: n2; room (maxMaintenance) says no now')
  expect(machine.ran).toEqual(['go', 'far', 'go', 'go'])
  expect(machine.state('p')).toBe(op)
})

test('a node that is being deleted goes on with its profiles, but not into maintenance', async () => {
  const leaving = (machine: Machine) => {
    const { metadata } = machine.node
    const deleted = { deletionTimestamp: '2026-03-01T12:00:00Z', finalizers: ['e2e/hold'] }
    machine.node = { ...machine.node, metadata: { ...metadata, ...deleted } }
  }
  const machine = new Machine(
    file(
      steps('p', [
        [op, 'go', required],
        [required, 'go', inside],
      ]),
      steps('freeing', [
        [op, 'go', inside, 'bind && free'],
        [inside, 'back', op],
      ]),
    ),
    { label: 'p' },
  )
  machine.on.add('go')
  leaving(machine)
  await machine.passes(2)
  const { result } = await machine.pass()
  expect([machine.state('p'), result.profiles[0]?.waitsFor]).toEqual([required, 'the node is being deleted'])
  // But whoever may be the one to let it go is not kept from that.
  machine.relabel({ [profileLabel]: 'freeing' })
  await machine.pass()
  expect([machine.state('freeing'), machine.node.metadata.finalizers]).toEqual([inside, []])
})

test('a dry run waits for what has to be done outside, as the real one does', async () => {
  const profile = steps(
    'p',
    [[op, 'go', inside]],
    '  abort: t2\n  in-maintenance:\n    enter: mark && t1\n    transitions: [{check: back, next: operational}]\n',
  )
  const machine = new Machine(file(profile), { label: 'p' })
  machine.on.add('go').add('back')
  await machine.pass()
  const { result } = await machine.pass({ isDryRun: true })
  expect(result.profiles[0]).toMatchObject({ state: inside, next: inside, waitsFor: 't1 (note) runs until it is done' })
  expect([machine.state('p'), machine.ran]).toEqual([inside, ['go']])
  machine.annotate({ [abortAnnotation]: 'p' })
  const aborted = await machine.pass({ isDryRun: true })
  expect(aborted.result.profiles[0]).toMatchObject({ next: inside, waitsFor: 't2 (note) runs until it is done' })
})
