import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fencedClient, resources } from '../../src/kube/index.ts'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { configMap } from '../support/e2e-config-maps.ts'
import { Election, leaseTimes } from '../support/e2e-leaders.ts'

const { leaseDurationMs, renewDeadlineMs, renewEveryMs } = leaseTimes
// A look at the Lease may just have been made, takes a while itself, and two machines' worth of work share this one.
const slackMs = 2 * renewEveryMs + 2_000

test.concurrent('of two candidates one leads, and when it gives the Lease back the other need not wait', async (context) => {
  const ground = await prepareGround(context)
  const election = new Election(ground)
  await election.installLease()
  const first = election.enter('first', ground.admin)
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: 10_000 })
  const second = election.enter('second', ground.admin)
  await sleep(leaseDurationMs + renewEveryMs)
  expect(election.terms).toMatchObject([{ who: 'first' }])
  expect(election.terms[0]?.term.isSafe()).toBe(true)
  expect(await election.readLease()).toMatchObject({
    spec: { leaseTransitions: election.terms[0]?.token, leaseDurationSeconds: leaseDurationMs / 1_000 },
  })

  const finishedAt = Date.now()
  first.finish()
  await first.ended
  await eventually(() => expect(election.terms).toHaveLength(2), { withinMs: leaseDurationMs })
  expect((election.terms[1]?.beganAt ?? 0) - finishedAt).toBeLessThan(leaseDurationMs - renewEveryMs)
  election.expectOneAtATime()
  second.stop()
  await second.ended
  expect((await election.readLease()).spec?.holderIdentity).toBeFalsy()
})

test.concurrent('when a leader dies without a word, the other takes over after the whole lease duration, not before', async (context) => {
  const ground = await prepareGround(context)
  const election = new Election(ground)
  await election.installLease()
  const first = election.enter('first', ground.admin, { releaseOnStop: false })
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: 10_000 })
  election.enter('second', ground.admin)
  await sleep(3 * renewEveryMs)
  first.stop()
  await first.ended
  const renewedAt = Date.parse((await election.readLease()).spec?.renewTime ?? '')
  await eventually(() => expect(election.terms).toHaveLength(2), { withinMs: leaseDurationMs + slackMs })
  const [dead, heir] = election.terms
  const waitedMs = (heir?.beganAt ?? 0) - renewedAt
  expect(waitedMs).toBeGreaterThanOrEqual(leaseDurationMs)
  expect(waitedMs).toBeLessThan(leaseDurationMs + slackMs)
  expect(heir).toMatchObject({ who: 'second' })
  expect(heir?.token).toBeGreaterThan(dead?.token ?? 0)
  election.expectOneAtATime()
})

test.concurrent('a leader that is cut off stops, and can write no more, before the other begins', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const { client, proxy } = await connectThroughProxy(context, ground)
  const election = new Election(ground)
  await election.installLease()
  const first = election.enter('cut-off', client)
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: 10_000 })
  election.enter('other', admin)
  await sleep(2 * renewEveryMs)
  const [old] = election.terms
  if (!old) throw new Error('nobody leads')
  const write = (name: string) => fencedClient(admin, old.term).create(resources.configMaps, configMap(namespace, name))
  await write('in-time')

  proxy.blackout(600_000)
  const cutAt = Date.now()
  await eventually(() => expect(election.terms).toHaveLength(2), { withinMs: leaseDurationMs + slackMs })
  election.expectOneAtATime()
  const stoppedMs = (old.endedAt ?? 0) - cutAt
  expect(stoppedMs).toBeGreaterThan(renewDeadlineMs - renewEveryMs * 2)
  expect(stoppedMs).toBeLessThan(leaseDurationMs)
  expect(old.term.isSafe()).toBe(false)
  expect(old.term.signal.reason).toMatchObject({ code: 'NotLeader', token: old.token })
  await expect(write('too-late')).rejects.toMatchObject({ code: 'NotLeader' })
  await expect(admin.get(resources.configMaps, { name: 'too-late', namespace })).rejects.toMatchObject({
    code: 'NotFound',
  })
  expect(first.troubles.length).toBeGreaterThan(0)

  // Back on the network it is a candidate again, and no more than that.
  proxy.blackout(0)
  await sleep(3 * renewEveryMs)
  expect(election.terms).toHaveLength(2)
  expect(election.terms[1]?.term.isSafe()).toBe(true)
})

test.concurrent('a Lease that somebody deletes ends the term, and the next token is higher all the same', async (context) => {
  const ground = await prepareGround(context)
  const election = new Election(ground)
  await election.installLease()
  election.enter('first', ground.admin)
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: 10_000 })
  // Somebody's label is nobody's business.
  const body = { metadata: { labels: { touched: 'yes' } } }
  await ground.admin.patch(resources.leases, election.lease, { type: 'merge', body })
  await sleep(3 * renewEveryMs)
  expect(election.terms[0]?.term.isSafe()).toBe(true)
  expect(await election.readLease()).toMatchObject({ metadata: { labels: { touched: 'yes' } } })

  await ground.admin.delete(resources.leases, election.lease, { uid: 'any' })
  const deletedAt = Date.now()
  await eventually(() => expect(election.terms[0]?.endedAt).toBeDefined(), { withinMs: slackMs })
  // Newcomers that remember nothing.
  const [third, fourth] = [election.enter('third', ground.admin), election.enter('fourth', ground.admin)]
  await eventually(() => expect(election.terms).toHaveLength(2), { withinMs: leaseDurationMs + 2 * slackMs })
  election.expectOneAtATime()
  // A leader could still have been at work somewhere: nobody may begin before its term is over.
  expect((election.terms[1]?.beganAt ?? 0) - deletedAt).toBeGreaterThanOrEqual(renewDeadlineMs)
  third.stop()
  fourth.stop()
})

test.concurrent('a Lease in which somebody writes another holder ends the term at the next renewal', async (context) => {
  const ground = await prepareGround(context)
  const election = new Election(ground)
  await election.installLease()
  election.enter('first', ground.admin)
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: 10_000 })
  const body = { spec: { holderIdentity: 'usurper' } }
  await ground.admin.patch(resources.leases, election.lease, { type: 'merge', body })
  await eventually(() => expect(election.terms[0]?.endedAt).toBeDefined(), { withinMs: slackMs })
  expect((await election.readLease()).spec?.holderIdentity).toBe('usurper')
  expect(String(election.terms[0]?.term.signal.reason)).toContain('somebody else')
})
