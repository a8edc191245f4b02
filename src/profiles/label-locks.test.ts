import { describe, expect, test } from 'vitest'
import type { NodeObject } from '../kube/index.ts'
import { LabelLocks } from './label-locks.ts'
import { Machine } from './state/fixture-machine.ts'

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
