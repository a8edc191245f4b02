import { expect, test } from 'vitest'
import { noon } from '../fixture-pass.ts'
import type { Profile, ProfilesConfig } from '../plugin.ts'
import type { MaintenanceData } from './data.ts'
import { goTimeOf } from './go-time.ts'
import { selectProfiles } from './select.ts'

const config: ProfilesConfig = {
  requeueMs: 1,
  labelFilter: [],
  profiles: new Map(['default', 'a', 'b', '-b'].map((name) => [name, { name } as Profile])),
  labelTakers: new Map(),
}
const earlier = goTimeOf(noon - 1_000)
const stored = (states: Readonly<Record<string, string>>): MaintenanceData => ({
  profiles: new Map(
    Object.entries(states).map(([name, current]) => [name, { transition: earlier, current, previous: current }]),
  ),
  notifications: new Map([['n', earlier]]),
})

test.for<[string | undefined, string[], string[]]>([
  [undefined, ['default'], []],
  ['', ['default'], []],
  ['a', ['a'], []],
  ['b--a', ['b', 'a'], []],
  ['a--a', ['a'], []],
  ['a--typo', ['a'], ['typo']],
  ['typo', [], ['typo']],
  ['a---b', ['a', '-b'], []],
  ['a----b', ['a', 'b'], []],
])('label %s selects %s and does not know %s', ([label, selected, unknown]) => {
  const selection = selectProfiles(label, config, stored({}), noon)
  expect(selection.profiles.map(({ name }) => name)).toEqual(selected)
  expect(selection.unknown).toEqual(unknown)
  const fresh = { transition: goTimeOf(noon), current: 'operational', previous: 'operational' }
  expect(selection.data.profiles).toEqual(new Map(selected.map((name) => [name, fresh])))
})

test('what the label no longer names is dropped, and what only the file no longer has is kept', () => {
  const data = stored({ a: 'in-maintenance', typo: 'in-maintenance', b: 'maintenance-required' })
  const selection = selectProfiles('b--typo', config, data, noon)
  expect(selection.dropped).toEqual([{ name: 'a', state: 'in-maintenance' }])
  expect([...selection.data.profiles.keys()].sort()).toEqual(['b', 'typo'])
  expect(selection.data.profiles.get('b')).toBe(data.profiles.get('b'))
  expect(selection.data.notifications).toBe(data.notifications)
})
