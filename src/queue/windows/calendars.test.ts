import { describe, expect, test } from 'vitest'
import type { MaintenanceWindow } from '../../api/index.ts'
import {
  ApiError,
  type KubeObject,
  type ListPage,
  type ListWatch,
  type WatchEvent,
  type WatchOptions,
} from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { Calendars } from './calendars.ts'
import { readWindowObject } from './decide-window.ts'
import { windowStatusOf } from './window-status.ts'

const ref = { name: 'holidays', key: 'cal.ics' }
const window: MaintenanceWindow = {
  metadata: { name: 'w', uid: 'w', generation: 1 },
  spec: { timeZone: 'UTC', schedule: { always: true }, exclusions: [{ ics: { configMapRef: ref } }] },
}
const text = 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n'
const configMap: KubeObject = {
  metadata: { name: 'holidays', namespace: 'fettle-system', uid: 'c', resourceVersion: '1' },
  ...{ data: { 'cal.ics': text } },
}

const refusal = () => new ApiError({ code: 'Forbidden', method: 'GET', path: '/configmaps', seen: 'not for you' })

/** An API server that can end its watches, and refuse new ones. */
class Server {
  isForbidden = false
  #cut: (() => void) | undefined

  cut(): void {
    this.#cut?.()
  }

  async *list(): AsyncGenerator<ListPage<KubeObject>> {
    if (this.isForbidden) throw refusal()
    yield { items: [configMap], resourceVersion: '1' }
  }

  async *watch({ sendInitialEvents, signal, onOpen }: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>> {
    if (this.isForbidden) throw refusal()
    onOpen?.()
    if (sendInitialEvents) {
      yield { type: 'ADDED', object: configMap }
      yield { type: 'BOOKMARK', resourceVersion: '1', initialEventsEnd: true }
    }
    await new Promise<void>((resolve) => {
      this.#cut = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

function following() {
  const clock = new FakeClock()
  const server = new Server()
  const stop = new AbortController()
  const client = {
    list: () => server.list(),
    watch: (_: unknown, options: WatchOptions) => server.watch(options),
  } as unknown as ListWatch
  const told: string[] = []
  const calendars = new Calendars(
    { client, namespace: 'fettle-system', signal: stop.signal, clock, random: () => 0.5 },
    () => told.push('problem' in calendars.calendarOf(ref) ? 'closed' : 'read'),
  )
  calendars.follow([window])
  return { clock, server, stop, calendars, told }
}

describe('a calendar', () => {
  test('that was read and cannot be read any more closes its window, and opens it when it can be read again', async () => {
    const { clock, server, stop, calendars, told } = following()
    await clock.advance(0)
    expect(calendars.calendarOf(ref)).toEqual({ text })

    // The watch lives on for some minutes before it ends and the server says no.
    await clock.advance(300_000)
    expect(calendars.calendarOf(ref)).toEqual({ text })
    server.isForbidden = true
    server.cut()
    await clock.advance(60_000)
    expect(calendars.calendarOf(ref)).toEqual({
      problem: expect.stringMatching(
        /^ConfigMap fettle-system\/holidays cannot be read any more: .*not for you/,
      ) as string,
    })
    expect(told.at(-1)).toBe('closed')
    const { status } = windowStatusOf(window, readWindowObject(window, calendars.calendarOf), 0)
    expect(status.open).toBe(false)
    expect(status.conditions?.find(({ type }) => type === 'ExclusionSourceReady')).toMatchObject({ status: 'False' })

    const closedAs = calendars.version
    server.isForbidden = false
    await clock.advance(60_000)
    expect(calendars.calendarOf(ref)).toEqual({ text })
    // Nothing in it has changed, and those who wait hear of it all the same.
    expect(told.at(-1)).toBe('read')
    expect(calendars.version).not.toBe(closedAs)
    stop.abort()
  })

  test('whose watch ends and begins again stays in force', async () => {
    const { clock, server, stop, calendars, told } = following()
    await clock.advance(300_000)
    const before = told.length
    server.cut()
    await clock.advance(60_000)
    expect(calendars.calendarOf(ref)).toEqual({ text })
    expect(told.slice(before)).toEqual([])
    stop.abort()
  })

  test('that nobody names any more is not looked at', async () => {
    const { clock, calendars, stop } = following()
    await clock.advance(0)
    calendars.follow([])
    await clock.advance(60_000)
    expect(clock.sleeping).toBe(0)
    stop.abort()
  })
})
