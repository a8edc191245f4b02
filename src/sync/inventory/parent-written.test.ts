import { setImmediate as soon } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { KubeClient, KubeObject, WatchEvent, WatchOptions } from '../../kube/index.ts'
import { parentWritten } from './parent-written.ts'

const policy = { name: 'shop', namespaces: ['shop', 'web'] }
const { signal } = new AbortController()
const event = (resourceVersion: string): WatchEvent<KubeObject> => ({
  type: 'MODIFIED',
  object: { metadata: { resourceVersion } },
})
const bookmark: WatchEvent<KubeObject> = { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: false }

function watching(events: readonly WatchEvent<KubeObject>[], refusal?: Error) {
  const asked: WatchOptions[] = []
  async function* watch(_: unknown, options: WatchOptions) {
    asked.push(options)
    await Promise.resolve()
    if (refusal) throw refusal
    yield* events
  }
  return { client: { watch } as unknown as KubeClient, asked }
}

async function isWritten(client: KubeClient): Promise<boolean> {
  const silent = soon().then(() => soon(false))
  return Promise.race([parentWritten(client, policy, signal).then(() => true), silent])
}

test('what is there at the beginning is no news; another version is', async () => {
  expect(await isWritten(watching([event('1'), bookmark]).client)).toBe(false)
  expect(await isWritten(watching([event('1'), bookmark, event('2')]).client)).toBe(true)
})

test('only the parent is watched, where it is kept', async () => {
  const { client, asked } = watching([])
  await isWritten(client)
  expect(asked).toMatchObject([{ namespace: 'shop', fieldSelector: 'metadata.name=fettle-sync-shop' }])
})

test('who may not watch hears nothing, and nothing breaks', async () => {
  expect(await isWritten(watching([], new Error('forbidden')).client)).toBe(false)
})
