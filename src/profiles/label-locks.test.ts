import { describe, expect, test } from 'vitest'
import type { NodeObject } from '../kube/index.ts'
import { nodeOf } from './fixture-pass.ts'
import { LabelLocks } from './label-locks.ts'
import { profileLabel, type State, stateLabel } from './names.ts'
import { Machine, steps } from './state/fixture-machine.ts'

const nodeAt = (name: string, resourceVersion: string): NodeObject => ({ metadata: { name, resourceVersion } })

/** A view of the nodes that a test can hold back. */
function locks(...seen: NodeObject[]) {
  const view = new Map(seen.map((node) => [node.metadata.name, node]))
  const see = (node: NodeObject) => view.set(node.metadata.name, node)
  return { see, locks: new LabelLocks({ get: ({ name }) => view.get(name) }) }
}

describe('of those who found that nobody has the label', () => {
  test('one takes it, and the others look again', async () => {
    const { locks: some } = locks()
    const since = some.look()
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => some.store(since, async () => nodeAt(name, '7'))))
    expect(answers).toEqual([nodeAt('a', '7'), 'Late', 'Late'])
  })

  test('nobody takes it who looked before the view showed the last one', async () => {
    const { locks: some, see } = locks(nodeAt('a', '5'))
    await some.store(some.look(), async () => nodeAt('a', '7'))
    const blind = some.look()
    see(nodeAt('a', '7'))
    const write = async () => nodeAt('b', '8')
    expect(await some.store(blind, write)).toBe('Late')
    expect(await some.store(some.look(), write)).toEqual(nodeAt('b', '8'))
  })

  test('nobody takes it who looked while somebody else was about to', async () => {
    const { locks: some } = locks()
    let isStored: (node: NodeObject) => void = () => undefined
    const first = some.store(some.look(), () => new Promise((resolve) => (isStored = resolve)))
    await Promise.resolve()
    const second = some.store(some.look(), async () => nodeAt('b', '8'))
    isStored(nodeAt('a', '7'))
    expect(await Promise.all([first, second])).toEqual([nodeAt('a', '7'), 'Late'])
  })

  test('a write without an answer counts, and stops nobody for ever', async () => {
    const { locks: some } = locks()
    const since = some.look()
    await expect(some.store(since, () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
    expect(await some.store(since, async () => nodeAt('b', '8'))).toBe('Late')
    expect(await some.store(some.look(), async () => nodeAt('b', '8'))).toEqual(nodeAt('b', '8'))
  })

  test('a node that is gone holds up nobody', async () => {
    const { locks: some } = locks()
    await some.store(some.look(), async () => nodeAt('a', '7'))
    expect(await some.store(some.look(), async () => nodeAt('b', '8'))).toEqual(nodeAt('b', '8'))
  })
})

describe('a pass', () => {
  const fileOf = (trigger: string, asked: string) => `
instances:
  check: [{type: anyLabel, name: locked, config: {key: ${asked}}}]
  trigger:
  - {type: alterLabel, name: lock, config: {key: lock, value: x}}
  - {type: alterLabel, name: unlock, config: {key: lock, remove: true}}
  - {type: note, name: work, config: {name: work}}
profiles:
- name: p
  operational:
    transitions: [{check: "!locked", next: in-maintenance, trigger: "${trigger}"}]
`

  test.for([
    ['lock', 'lock', true],
    ['lock', 'another', false],
    ['unlock', 'lock', false],
    ['lock && work', 'lock', true],
  ] as const)('whose transition runs %s while nobody has %s takes a label: %s', async ([trigger, asked, expected]) => {
    const machine = new Machine(fileOf(trigger, asked), { label: 'p' })
    expect((await machine.pass()).takesLabel).toBe(expected)
  })

  test('shows what it takes with its intention, before anything outside is touched', async () => {
    const machine = new Machine(fileOf('lock && work', 'lock'), { label: 'p' })
    await machine.pass()
    expect([machine.label('lock'), machine.state('p'), machine.ran]).toEqual(['x', 'operational', []])
    expect((await machine.pass()).takesLabel).toBe(false)
    expect([machine.state('p'), machine.ran]).toEqual(['in-maintenance', ['work']])
  })
})

describe('of a whole file', () => {
  const fileOf = (...profiles: string[]) => `
instances:
  check:
  - {type: turn, name: go, config: {name: go}}
  - {type: lease, name: lease, config: {name: lease}}
  - {type: anyLabel, name: required, config: {key: ${stateLabel}, value: maintenance-required}}
  - {type: anyLabel, name: inside, config: {key: ${stateLabel}, value: in-maintenance}}
  - {type: anyLabel, name: a, config: {key: a}}
  - {type: anyLabel, name: c, config: {key: c}}
  - {type: anyLabel, name: b1, config: {key: b, value: '1'}}
  - {type: anyLabel, name: b2, config: {key: b, value: '2'}}
  trigger:
  - {type: alterLabel, name: set-a, config: {key: a, value: x}}
  - {type: alterLabel, name: set-b, config: {key: b, value: '1'}}
  - {type: alterLabel, name: set-c, config: {key: c, value: x}}
  - {type: note, name: work, config: {name: work}}
profiles:
${profiles.join('')}`
  const fromOperational = (check: string, next: State, trigger = '') =>
    steps('p', [['operational', check, next, trigger]])
  const other = (check: string, trigger = '') => steps('q', [['operational', check, 'maintenance-required', trigger]])

  test.for<[string, boolean, ...string[]]>([
    ['sets the state that it asks for', true, fromOperational('!required', 'maintenance-required')],
    ['asks for another state', false, fromOperational('!inside', 'maintenance-required')],
    [
      'asks for a label that another sets, and sets one that the other asks for',
      true,
      fromOperational('!b1', 'maintenance-required', 'set-a'),
      other('!a', 'set-b'),
    ],
    [
      'is one of a ring of three',
      true,
      fromOperational('!a', 'maintenance-required', 'set-b'),
      other('!c', 'set-a'),
      steps('r', [['operational', '!b1', 'maintenance-required', 'set-c']]),
    ],
    [
      'sets a label to a value that nobody asks for',
      false,
      fromOperational('!a', 'maintenance-required', 'set-b'),
      other('!b2', 'set-a'),
    ],
    [
      'only sets what another asks for',
      false,
      fromOperational('!go', 'maintenance-required', 'set-a'),
      other('!a', 'set-b'),
    ],
    ['only asks for what another sets', false, fromOperational('!a', 'maintenance-required'), other('go', 'set-a')],
  ])('a transition that %s takes a label: %s', async ([, expected, ...profiles]) => {
    const machine = new Machine(fileOf(...profiles), { label: 'p' })
    expect((await machine.pass()).takesLabel).toBe(expected)
    expect(machine.state('p')).toBe('maintenance-required')
  })

  const beside = (...labels: string[]) => ({
    cluster: {
      nodes: () => [nodeOf('n2', { labels: Object.fromEntries(labels.map((key) => [key, 'x'])) })],
      podsOn: () => [],
    },
  })

  test('what is taken only after a Lease is asked for again, and stored as a label that is taken', async () => {
    const machine = new Machine(fileOf(fromOperational('!a && lease', 'maintenance-required', 'set-a')), { label: 'p' })
    expect((await machine.pass()).takesLabel).toBe(false)
    expect([machine.label('a'), machine.taken]).toEqual([undefined, []])
    expect((await machine.pass()).takesLabel).toBe(true)
    expect([machine.label('a'), machine.taken, machine.state('p')]).toEqual(['x', ['lease'], 'maintenance-required'])
  })

  test('who is late for it gives the way up, and takes nothing', async () => {
    const machine = new Machine(fileOf(fromOperational('!a && lease', 'maintenance-required', 'set-a')), { label: 'p' })
    await machine.pass()
    const { result } = await machine.pass(beside('a'))
    expect(result.profiles[0]?.waitsFor).toBe(
      'the way to maintenance-required was given up: another node was first; a (anyLabel) says yes now',
    )
    expect([machine.label('a'), machine.taken, machine.state('p')]).toEqual([undefined, [], 'operational'])
    await machine.passes(3)
    expect([machine.label('a'), machine.state('p')]).toEqual(['x', 'maintenance-required'])
  })

  test.for<[string, string[], string[]]>([
    ['one state', ['p', 'p'], [fromOperational('!required', 'maintenance-required')]],
    ['one label', ['p', 'p'], [fromOperational('!a', 'maintenance-required', 'set-a')]],
    ['one label, after a Lease', ['p', 'p'], [fromOperational('!a && lease', 'maintenance-required', 'set-a')]],
    ['one label, after work', ['p', 'p'], [fromOperational('!a', 'maintenance-required', 'work && set-a')]],
    [
      'one label, which shows later than one for others',
      ['p', 'p'],
      [fromOperational('!a', 'maintenance-required', 'set-c && work && set-a'), other('!c')],
    ],
    ['one label of two', ['p', 'q'], [fromOperational('!b1', 'maintenance-required', 'set-a'), other('!a', 'set-b')]],
  ])('of nodes that are looked at side by side one gets what is for one: %s', async ([, labels, profiles]) => {
    const machines = labels.map((label, index) => {
      const node = nodeOf(`n${index}`, { labels: { [profileLabel]: label } })
      return new Machine(fileOf(...profiles), { node })
    })
    const some = new LabelLocks({ get: ({ name }) => machines.find(({ node }) => node.metadata.name === name)?.node })
    let version = 1
    const look = async (machine: Machine, nodes: readonly NodeObject[]) => {
      const since = some.look()
      const { node: before } = machine
      const { takesLabel } = await machine.pass({ cluster: { nodes: () => nodes, podsOn: () => [] } })
      const { node: after } = machine
      machine.node = before
      const store = async () => {
        machine.node = { ...after, metadata: { ...after.metadata, resourceVersion: String(++version) } }
        return machine.node
      }
      await (takesLabel ? some.store(since, store) : store())
    }
    for (let round = 0; round < 5; round++) {
      const nodes = machines.map(({ node }) => node)
      await Promise.all(machines.map((machine) => look(machine, nodes)))
    }
    const there = machines.filter((machine) => machine.label(stateLabel) === 'maintenance-required')
    expect(there).toHaveLength(1)
    expect(machines.filter((machine) => machine.label('a') ?? machine.label('b'))).toHaveLength(
      profiles.join().includes('set-') ? 1 : 0,
    )
  })

  test('nobody asks again who shows the label already, or who has a seat in the ledger', async () => {
    const shown = new Machine(fileOf(fromOperational('!a', 'maintenance-required', 'set-a && work')), { label: 'p' })
    const seated = new Machine(fileOf(fromOperational('!inside', 'in-maintenance', 'work')), { label: 'p' })
    for (const machine of [shown, seated]) {
      await machine.pass()
      const cluster = {
        nodes: () => [nodeOf('n2', { labels: { a: 'x', [stateLabel]: 'in-maintenance' } })],
        podsOn: () => [],
      }
      expect((await machine.pass({ cluster })).takesLabel).toBe(false)
      expect(machine.ran).toEqual(['work'])
    }
    expect([shown.state('p'), seated.state('p')]).toEqual(['maintenance-required', 'in-maintenance'])
  })

  test('while work outside goes on nothing is taken, and when it is done the label is', async () => {
    const machine = new Machine(fileOf(fromOperational('!a', 'maintenance-required', 'work && set-a')), { label: 'p' })
    machine.busy.add('work')
    for (let look = 0; look < 3; look++) expect((await machine.pass()).takesLabel).toBe(false)
    machine.busy.clear()
    expect((await machine.pass()).takesLabel).toBe(true)
    expect([machine.label('a'), machine.state('p')]).toEqual(['x', 'maintenance-required'])
  })
})
