import { describe, expect, test } from 'vitest'
import { profileLabel } from './names.ts'
import { Machine } from './state/fixture-machine.ts'

describe('the note of a cordon', () => {
  const file = `
instances:
  check:
  - {type: turn, name: go, config: {name: go}}
  trigger:
  - {type: eviction, name: cordon, config: {action: cordon}}
  - {type: eviction, name: uncordon, config: {action: uncordon}}
profiles:
- name: a
  operational:
    transitions: [{check: go, next: in-maintenance, trigger: cordon}]
- name: b
  operational:
    transitions: [{check: go, next: maintenance-required, trigger: uncordon}]
`
  const notes = ({ node }: Machine) =>
    Object.keys(node.metadata.annotations ?? {}).filter((key) => key.includes('cordon'))

  async function cordonedByA(): Promise<Machine> {
    const machine = new Machine(file, { label: 'a' })
    machine.on.add('go')
    await machine.passes(2)
    expect(machine.node.spec?.unschedulable).toBe(true)
    expect(notes(machine).sort()).toEqual(['cordon.fettle.dev/profile-a', 'fettle.dev/cordon-prior'])
    machine.on.delete('go')
    return machine
  }

  test('goes with the profile, the node stays as it is, and another profile can give it back', async () => {
    const machine = await cordonedByA()
    machine.relabel({ [profileLabel]: 'b' })
    await machine.pass()
    expect([machine.node.spec?.unschedulable, notes(machine)]).toEqual([true, []])
    machine.on.add('go')
    await machine.passes(2)
    expect(machine.node.spec?.unschedulable ?? false).toBe(false)
  })

  test('goes when somebody made the node take pods', async () => {
    const machine = await cordonedByA()
    machine.node = { ...machine.node, spec: { ...machine.node.spec, unschedulable: false } }
    await machine.pass()
    expect(notes(machine)).toEqual([])
    expect((await machine.pass()).patch, 'and then there is nothing to write').toBeUndefined()
  })

  test('stays while the profile holds it', async () => {
    const machine = await cordonedByA()
    await machine.passes(3)
    expect(notes(machine).sort()).toEqual(['cordon.fettle.dev/profile-a', 'fettle.dev/cordon-prior'])
  })
})
