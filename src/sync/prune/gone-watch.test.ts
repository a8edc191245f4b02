import { expect, test } from 'vitest'
import { ModelServer } from '../../kube/cache/model-server.ts'
import { ApiError, type KubeErrorCode, resources } from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { watchGone } from './gone-watch.ts'

function refusing(code: KubeErrorCode) {
  return () => {
    throw new ApiError({ code, method: 'GET', path: '/model', seen: 'the test refuses' })
  }
}

/** Two objects, of which `one` and `two` are awaited. */
function world(overrides: Partial<Pick<ModelServer, 'list' | 'watch'>> = {}) {
  const server = new ModelServer()
  server.put('one')
  server.put('two')
  const clock = new FakeClock()
  const gone: string[] = []
  const seen: string[] = []
  const end = new AbortController()
  const targets = ['one', 'two'].map((name) => ({ name, uid: server.objects.get(name)?.metadata.uid ?? '' }))
  const { opened } = watchGone(
    { list: server.list.bind(server), watch: server.watch.bind(server), ...overrides },
    resources.configMaps,
    'shop',
    targets,
    { clock, signal: end.signal, onGone: (uid) => gone.push(uid), onSeen: (uid) => seen.push(uid) },
  )
  return { server, clock, gone, seen, opened, end }
}

test('the watch begins before anything is deleted, and tells each deletion once', async () => {
  const { server, clock, gone, seen, opened } = world()
  await opened
  server.remove('one')
  server.put('two', { changed: 'yes' })
  await clock.advance(0)
  expect([gone, seen]).toEqual([['uid-1'], ['uid-2']])
  server.remove('two')
  await clock.advance(0)
  expect(gone).toEqual(['uid-1', 'uid-2'])
  expect(server.lists).toBe(1)
})

test.for(['end', 'Unreachable', 'Gone'] as const)(
  'what goes while the watch is cut (%s) is found by reading again',
  async (how) => {
    const { server, clock, gone, opened } = world()
    await opened
    server.cut(how)
    server.remove('one')
    server.compact()
    await clock.advance(1_000)
    expect(gone).toEqual(['uid-1'])
    server.remove('two')
    await clock.advance(0)
    expect(gone).toEqual(['uid-1', 'uid-2'])
  },
)

test('another object under the name means that the first is gone, seen or unseen', async () => {
  const { server, clock, gone, opened } = world()
  await opened
  server.cut('end')
  server.remove('one')
  server.put('one')
  await clock.advance(1_000)
  expect(gone).toEqual(['uid-1'])
})

test('a server that cannot be reached never makes anything look gone', async () => {
  const { server, clock, gone, opened } = world()
  await opened
  server.pageFaults = ['Unavailable', 'Unreachable', 'Server']
  server.cut('Unreachable')
  await clock.advance(2_000)
  expect(gone).toEqual([])
})

test.for(['Forbidden', 'NotSupported'] as const)(
  'what may not be watched (%s) is listed again and again',
  async (code) => {
    const { server, clock, gone, opened } = world({ watch: refusing(code) })
    await clock.advance(200)
    await clock.advance(1_000)
    await opened
    server.remove('one')
    await clock.advance(1_000)
    expect(gone).toEqual(['uid-1'])
  },
)

test('what may not even be listed is refused', async () => {
  const { opened, gone } = world({ list: refusing('Forbidden') })
  await expect(opened).rejects.toMatchObject({ code: 'Forbidden' })
  expect(gone).toEqual([])
})

test('a kind that is gone took its objects with it', async () => {
  const { server, clock, gone, opened } = world()
  await opened
  server.pageFaults = ['NotFound']
  server.cut('end')
  await clock.advance(1_000)
  expect(gone).toEqual(['uid-1', 'uid-2'])
})

test('an abort ends it', async () => {
  const { server, clock, gone, opened, end } = world()
  await opened
  end.abort(new Error('the turn is over'))
  server.remove('one')
  await clock.advance(10_000)
  expect(gone).toEqual([])
})
