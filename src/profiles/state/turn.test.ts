import { describe, expect, test } from 'vitest'
import { Machine } from './fixture-machine.ts'

describe('a check that takes something', () => {
  const urgentOrLease = `
instances:
  check:
  - {type: turn, name: urgent, config: {name: urgent}}
  - {type: lease, name: lease, config: {name: lease}}
profiles:
- name: p
  operational:
    transitions: [{check: urgent || lease, next: in-maintenance}]
`

  test('and said no takes nothing, and holds up nobody whom another check lets through', async () => {
    const machine = new Machine(urgentOrLease, { label: 'p' })
    machine.taken.push('lease')
    machine.on.add('urgent')
    await machine.pass()
    expect(machine.state('p')).toBe('in-maintenance')
    expect(machine.taken).toEqual(['lease'])
  })

  test('and said yes takes it, whoever else said yes', async () => {
    const machine = new Machine(urgentOrLease, { label: 'p' })
    await machine.passes(3)
    expect([machine.state('p'), machine.taken]).toEqual(['in-maintenance', ['lease']])
  })
})

test('of two transitions that pass the second is carried out while something keeps the node out of maintenance', async () => {
  const file = `
instances:
  check:
  - {type: turn, name: go, config: {name: go}}
  - {type: turn, name: over, config: {name: over}}
profiles:
- name: p
  maintenance-required:
    transitions:
    - {check: go, next: in-maintenance}
    - {check: over, next: operational}
  operational:
    transitions: [{check: go && !over, next: maintenance-required}]
`
  const machine = new Machine(file, { label: 'p' })
  machine.on.add('go')
  machine.whyNot = 'frozen'
  await machine.passes(3)
  expect(machine.state('p')).toBe('maintenance-required')
  machine.on.add('over')
  const { result } = await machine.pass()
  expect(machine.state('p')).toBe('operational')
  expect(
    result.profiles[0]?.transitions.map(({ target, isPassed, chain }) => [target, isPassed, chain.isPassed]),
  ).toEqual([
    ['in-maintenance', false, true],
    ['operational', true, true],
  ])
})

test('what the triggers of one profile change is seen by the checks of the next one in the same pass', async () => {
  const file = `
instances:
  check:
  - {type: turn, name: go, config: {name: go}}
  - {type: hasLabel, name: marked, config: {key: mark}}
  trigger:
  - {type: alterLabel, name: mark, config: {key: mark, value: here}}
profiles:
- name: first
  operational:
    transitions: [{check: go, next: maintenance-required, trigger: mark}]
- name: second
  operational:
    transitions: [{check: marked, next: maintenance-required}]
`
  const machine = new Machine(file, { label: 'first--second' })
  await machine.pass()
  machine.on.add('go')
  await machine.pass()
  expect([machine.state('first'), machine.state('second')]).toEqual(['maintenance-required', 'maintenance-required'])
})
