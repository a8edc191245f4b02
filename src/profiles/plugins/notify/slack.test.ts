import { expect, test } from 'vitest'
import { FakeClock } from '../../../time/fake-clock.ts'
import { createFor, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { canary, doorsOf, notifyContext } from './fixture-notify.ts'
import { type Fault, startSlack } from './fixture-slack.ts'
import { slack } from './slack.ts'

const config = { channel: '#ops', message: '{{.Node.Name}}: <!here> {{.State}}' }

const never = new AbortController().signal

test('the hook gets the channel and the text, with marks as they are', async (context) => {
  const { origin, heard } = await startSlack(context)
  const notifier = createFor(slack, { ...config, hook: `${origin}/services/x` })
  await notifier.send(notifyContext(), doorsOf(new FakeClock()), never)
  expect(heard).toEqual([
    {
      path: '/services/x',
      authorization: undefined,
      body: { channel: '#ops', text: 'node-7: <!here> maintenance-required' },
    },
  ])
})

test.for([
  ['another word', { body: 'okay' }, true, 'a success, but not the ok of Slack'],
  ['ok and more', { body: 'ok\n' }, true, 'a success, but not the ok of Slack'],
  ['no word', { body: '' }, true, 'a success, but not the ok of Slack'],
  ['a whole page', { body: 'ok'.repeat(100_000) }, true, 'a success, but not the ok of Slack'],
  ['no_service', { status: 404, body: canary }, false, 'answered 404'],
  ['trouble', { status: 500, body: 'ok' }, true, 'answered 500'],
  ['too many', { status: 429, body: 'ok' }, true, 'answered 429'],
  ['a redirect', { status: 302, body: 'ok' }, false, 'answered 302, and redirects are not followed'],
] as const)('%s is no delivery', async ([, fault, isWorthRetry, why], context) => {
  const { origin, faults } = await startSlack(context)
  faults.push(fault satisfies Fault)
  const sending = createFor(slack, { ...config, hook: `${origin}/${canary}` }).send(
    notifyContext(),
    doorsOf(new FakeClock()),
    never,
  )
  const error: unknown = await sending.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'NotSent', isWorthRetry, message: expect.stringContaining(why) as string })
  expect(String(error)).not.toContain(canary)
})

test('one that hangs is given up after ten seconds', async (context) => {
  const { origin, faults, heard } = await startSlack(context)
  faults.push('hang')
  const clock = new FakeClock()
  const sending = createFor(slack, { ...config, hook: origin }).send(notifyContext(), doorsOf(clock), never)
  const failing = expect(sending).rejects.toThrow('no answer within 10 s')
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(1)
  await clock.advance(10_000)
  await failing
})

test.for([
  ['nonsense', `${canary}://x`, 'hook is no address'],
  ['a user at nobody', `http://u:${canary}@127.0.0.1:1/`, 'it cannot be reached'],
  ['nobody there', `http://127.0.0.1:1/${canary}`, 'it cannot be reached'],
] as const)('a hook that is %s is not shown', async ([, hook, why]) => {
  const sending = createFor(slack, { ...config, hook }).send(notifyContext(), doorsOf(new FakeClock()), never)
  const error: unknown = await sending.catch((thrown: unknown) => thrown)
  expect(String(error)).toContain(why)
  expect(String(error)).not.toContain(canary)
})

test.for([
  ['a user and a password', 'u:p%40%FF', Buffer.from('u:p@\xff', 'latin1')],
  ['a user alone', 'u', Buffer.from('u:')],
  ['no escapes that mean anything', 'u:%zz', Buffer.from('u:%zz')],
] as const)('a hook with %s is asked with them as Basic', async ([, user, pair], context) => {
  const { origin, heard } = await startSlack(context)
  const hook = `${origin.replace('//', `//${user}@`)}/x?a=b`
  await createFor(slack, { ...config, hook }).send(notifyContext(), doorsOf(new FakeClock()), never)
  expect(heard).toMatchObject([{ path: '/x?a=b', authorization: `Basic ${pair.toString('base64')}` }])
})

test('who refuses a password is told of without it', async (context) => {
  const { origin, faults } = await startSlack(context)
  faults.push({ status: 401, body: canary })
  const hook = `${origin.replace('//', `//u:${canary}@`)}/${canary}`
  const sending = createFor(slack, { ...config, hook }).send(notifyContext(), doorsOf(new FakeClock()), never)
  const error: unknown = await sending.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'NotSent', isWorthRetry: false, message: 'answered 401' })
})

test.for([
  [`${canary}`, 1],
  [`hooks.slack.com/${canary}`, 1],
  [`ftp://hooks.slack.com/${canary}`, 1],
  [`https://`, 1],
  [`https://hooks.slack.com/${canary}`, 0],
  [`http://u:${canary}@proxy/hook`, 0],
] as const)('the hook %s can never work: %d; that is said, and no reason not to load', ([hook, count]) => {
  const message = 'hook: nothing can be sent to it: it is no address that begins with https:// or http://'
  expect(warningsFor(slack, { ...config, message: 'x', hook })).toEqual(Array(count).fill(message))
  expect(problemsFor(slack, { ...config, message: 'x', hook })).toEqual([])
})

test('a template that cannot be written sends nothing', async (context) => {
  const { origin, heard } = await startSlack(context)
  const notifier = createFor(slack, { ...config, hook: origin, message: '{{.Node.Foo}}' })
  const { node } = notifyContext()
  const doors = doorsOf(new FakeClock(), { get: async <T>() => node as T })
  await expect(notifier.send(notifyContext(), doors, never)).rejects.toThrow(
    'message cannot be written: line 1, column 3: there is no .Foo in v1.Node',
  )
  expect(heard).toEqual([])
})

test('a template that cannot be read is found with the file', () => {
  expect(problemsFor(slack, { ...config, hook: 'x', message: '{{' })).toEqual([
    expect.stringContaining('message: the template cannot be read: line 1, column 1'),
  ])
})
