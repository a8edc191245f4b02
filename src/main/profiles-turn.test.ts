import { expect, test } from 'vitest'
import { ProfilesTurn } from './profiles-turn.ts'

function turnOf() {
  const said: string[] = []
  const log = {
    info: (_: object, text: string) => void said.push(text),
    warn: (_: object, text: string) => void said.push(text),
  }
  return { turn: new ProfilesTurn({ namespace: 'ops', name: 'original' }, log), said }
}

test('who waits says for whom, once, and no longer when it begins', () => {
  const { turn, said } = turnOf()
  const waits = 'profiles wait: lease ops/original is held by maintenance-controller-7d9f_1234'
  expect([turn.isActive, turn.remarks()]).toEqual([false, []])
  for (let i = 0; i < 3; i++) turn.note({ type: 'waits', holder: 'maintenance-controller-7d9f_1234' })
  expect([turn.isActive, turn.remarks(), said]).toEqual([false, [waits], [waits]])
  turn.note({ type: 'acquired', token: 1, identity: 'me', before: '' })
  turn.begin()
  expect([turn.isActive, turn.remarks()]).toEqual([true, []])
  turn.note({ type: 'ended', token: 1, reason: new Error('over') })
  expect([turn.isActive, turn.remarks()]).toEqual([false, []])
  expect(said.slice(1)).toEqual(['profiles begin', 'profiles end'])
  turn.note({ type: 'waits', holder: 'maintenance-controller-7d9f_1234' })
  expect(said.slice(3)).toEqual([waits])
})

test('who may not even look at the lease says why, and waits', () => {
  const { turn, said } = turnOf()
  for (let i = 0; i < 3; i++) turn.note({ type: 'trouble', error: new Error('leases is forbidden') })
  const text = 'profiles wait: lease ops/original could not be read or written: leases is forbidden'
  expect([turn.remarks(), said]).toEqual([[text], [text]])
  turn.note({ type: 'waits', holder: '' })
  expect(turn.remarks()).toEqual(['profiles wait: lease ops/original was not given back, and is watched'])
  turn.leave()
  expect(turn.remarks()).toEqual([])
})

test('trouble of one who acts is told, and does not make it wait', () => {
  const { turn, said } = turnOf()
  turn.note({ type: 'acquired', token: 1, identity: 'me', before: '' })
  turn.begin()
  turn.note({ type: 'trouble', error: new Error('late') })
  expect([turn.isActive, turn.remarks(), said.at(-1)]).toEqual([true, [], 'the lease of profiles was not renewed'])
})

test('who holds the lease and finds the original in another namespace stops, says what to do, once, and goes on after it', () => {
  const { turn, said } = turnOf()
  turn.note({ type: 'acquired', token: 1, identity: 'me', before: '' })
  expect(turn.isActive).toBe(false)
  turn.begin()
  for (let i = 0; i < 3; i++)
    turn.waitForOther({ program: 'maintenance-controller', namespace: 'kube-system', holder: 'mc-7d9f_1234' })
  const text =
    'profiles wait: maintenance-controller mc-7d9f_1234 leads in namespace kube-system: ' +
    'scale it to zero, or start the controller with --original-lease-namespace=kube-system'
  expect([turn.isActive, turn.remarks(), said]).toEqual([false, [text], ['profiles begin', 'profiles end', text]])
  turn.begin()
  expect([turn.isActive, turn.remarks(), said.slice(3)]).toEqual([true, [], ['profiles begin']])
})
