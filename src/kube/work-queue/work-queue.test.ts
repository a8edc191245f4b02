import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { type WorkContext, type WorkFailure, WorkQueue, type WorkQueueOptions } from './work-queue.ts'
import { TerminalError } from './work-retry.ts'

const never = new AbortController().signal
/** With a random number of (almost) 1 the back-off is the full exponential one. */
const fullDelay = () => 0.999_999

interface Run {
  readonly key: string
  readonly at: number
  readonly context: WorkContext
  readonly finish: (result?: { readonly requeueAfterMs: number }) => void
  readonly fail: (error: unknown) => void
}

/** A queue whose runs end when the test says so. */
function bench(options: Partial<WorkQueueOptions> = {}) {
  const clock = new FakeClock()
  const failures: WorkFailure[] = []
  const runs: Run[] = []
  const queue = new WorkQueue({ clock, random: fullDelay, onFailure: (failure) => failures.push(failure), ...options })
  const start = () =>
    queue.start(
      (key, context) =>
        new Promise((resolve, reject) => {
          runs.push({ key, at: clock.monotonic(), context, finish: (result) => resolve(result), fail: reject })
        }),
    )
  const last = (): Run => {
    const run = runs.at(-1)
    if (!run) throw new Error('nothing has run')
    return run
  }
  return { clock, queue, runs, failures, start, last, keys: () => runs.map((run) => run.key) }
}

describe('adding', () => {
  test('a key added many times runs once', async () => {
    const { clock, queue, keys, start } = bench()
    start()
    for (let i = 0; i < 10; i++) queue.add('a')
    await clock.advance(0)
    expect(keys()).toEqual(['a'])
  })

  test('adds made before the start wait for it', async () => {
    const { clock, queue, keys, start } = bench()
    queue.add('a')
    await clock.advance(10)
    expect(keys()).toEqual([])
    start()
    await clock.advance(0)
    expect(keys()).toEqual(['a'])
  })

  test('a key added during its run runs once more afterwards, not at the same time', async () => {
    const { clock, queue, keys, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    queue.add('a')
    queue.add('a')
    await clock.advance(10)
    expect(keys()).toEqual(['a'])
    last().finish()
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'a'])
    last().finish()
    await clock.advance(1_000)
    expect(queue.metrics()).toMatchObject({ done: 2, depth: 0, delayed: 0, inFlight: 0 })
  })

  test('no more than the allowed number run at once', async () => {
    const { clock, queue, runs, keys, start } = bench({ concurrency: 2 })
    start()
    for (const key of ['a', 'b', 'c']) queue.add(key)
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'b'])
    runs[0]?.finish()
    await clock.advance(0)
    expect(keys()).toEqual(['a', 'b', 'c'])
  })

  test('of several delayed adds the earliest wins, and only that one', async () => {
    const { clock, queue, runs, start, last } = bench()
    start()
    queue.addAfter('a', 300)
    queue.addAfter('a', 100)
    queue.addAfter('a', 200)
    await clock.advance(99)
    expect(runs).toHaveLength(0)
    await clock.advance(1)
    expect(last().at).toBe(100)
    last().finish()
    await clock.advance(1_000)
    expect(runs).toHaveLength(1)
  })

  test('a delay longer than a timer can hold is still waited out', async () => {
    const { clock, queue, runs, start, last } = bench()
    start()
    const days40 = 40 * 86_400_000
    queue.addAfter('a', days40)
    await clock.advance(days40 - 1)
    expect(runs).toHaveLength(0)
    await clock.advance(1)
    expect(last().at).toBe(days40)
  })

  test('a successful run can ask to look again', async () => {
    const { clock, queue, runs, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    last().finish({ requeueAfterMs: 60_000 })
    await clock.advance(60_000)
    expect(runs.map((run) => run.at)).toEqual([0, 60_000])
  })
})

describe('failing', () => {
  test('a failed key comes back after 0.5, 1, 2 … seconds, and a success resets that', async () => {
    const { clock, queue, runs, failures, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    for (let i = 0; i < 3; i++) {
      last().fail(new Error('no'))
      await clock.advance(500 * 2 ** i)
    }
    expect(runs.map((run) => [run.at, run.context.attempt])).toEqual([
      [0, 1],
      [500, 2],
      [1_500, 3],
      [3_500, 4],
    ])
    last().finish()
    queue.add('a')
    await clock.advance(0)
    expect(last().context.attempt).toBe(1)
    expect(failures.map((failure) => failure.retryInMs)).toEqual([500, 1_000, 2_000])
    expect(queue.metrics()).toMatchObject({ retries: 3, done: 1 })
  })

  test('the back-off stops growing at its longest', async () => {
    const { clock, queue, failures, start, last } = bench({ backoff: { firstMs: 1_000, longestMs: 4_000 } })
    start()
    queue.add('a')
    for (let i = 0; i < 5; i++) {
      await clock.advance(4_000)
      last().fail(new Error('no'))
    }
    await clock.advance(0)
    expect(failures.map((failure) => failure.retryInMs)).toEqual([1_000, 2_000, 4_000, 4_000, 4_000])
  })

  test('forget starts the back-off from the beginning', async () => {
    const { clock, queue, failures, start, last } = bench()
    start()
    queue.addRateLimited('a')
    queue.addRateLimited('a')
    queue.forget('a')
    await clock.advance(1_000)
    last().fail(new Error('no'))
    await clock.advance(0)
    expect(failures[0]?.retryInMs).toBe(500)
  })

  test('an event may bring a failed key forward', async () => {
    const { clock, queue, runs, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    last().fail(new Error('no'))
    await clock.advance(100)
    queue.add('a')
    await clock.advance(0)
    expect(runs.map((run) => run.at)).toEqual([0, 100])
  })

  test('but not past the moment the server asked to wait for', async () => {
    const { clock, queue, runs, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    queue.add('a')
    last().fail(Object.assign(new Error('busy'), { retryAfterMs: 7_000 }))
    await clock.advance(100)
    queue.add('a', { priority: 100 })
    await clock.advance(20_000)
    expect(runs.map((run) => run.at)).toEqual([0, 7_000])
  })

  test('a terminal error is not tried again until the key is added anew', async () => {
    const { clock, queue, runs, failures, start, last } = bench()
    start()
    queue.add('a')
    await clock.advance(0)
    last().fail(new TerminalError('the spec names an unknown plugin'))
    await clock.advance(86_400_000)
    expect(runs).toHaveLength(1)
    expect(failures[0]?.retryInMs).toBeUndefined()
    expect(queue.metrics()).toMatchObject({ terminal: 1, delayed: 0 })
    queue.add('a')
    await clock.advance(0)
    expect(last().context.attempt).toBe(1)
  })

  test('a run over its deadline is told so, and its key stays taken until it returns', async () => {
    const { clock, queue, runs, start, last } = bench({ runDeadlineMs: 1_000 })
    start()
    queue.add('a')
    await clock.advance(0)
    queue.add('a')
    await clock.advance(5_000)
    expect(last().context.signal.reason).toMatchObject({ name: 'TimeoutError' })
    expect(runs).toHaveLength(1)
    expect(queue.metrics().longestRunMs).toBe(5_000)
    last().finish()
    await clock.advance(0)
    expect(runs).toHaveLength(2)
  })
})

test('the metrics tell how many wait and for how long', async () => {
  const { clock, queue, start } = bench({ concurrency: 1 })
  start()
  queue.add('a')
  await clock.advance(0)
  queue.add('b')
  await clock.advance(50)
  queue.add('c')
  queue.addAfter('d', 5_000)
  await clock.advance(50)
  expect(queue.metrics()).toEqual({
    depth: 2,
    delayed: 1,
    inFlight: 1,
    oldestWaitingMs: 100,
    retries: 0,
    done: 0,
    terminal: 0,
    dropped: 0,
    longestRunMs: 100,
  })
})

describe('draining', () => {
  test('lets runs finish, drops the rest and takes nothing new', async () => {
    const { clock, queue, keys, start, last } = bench({ concurrency: 1 })
    start()
    queue.add('a')
    await clock.advance(0)
    queue.add('b')
    queue.addAfter('c', 100)
    const drained = queue.drain(never)
    queue.add('d')
    await clock.advance(1_000)
    last().fail(new Error('too late to be tried again'))
    expect(await drained).toEqual({ dropped: 2, unfinished: [] })
    await clock.advance(10_000)
    expect(keys()).toEqual(['a'])
    expect(clock.sleeping).toBe(0)
    expect(queue.metrics()).toMatchObject({ dropped: 3, depth: 0, delayed: 0, inFlight: 0 })
  })

  test('aborts the runs when patience ends, and names those that do not care', async () => {
    const { clock, queue, runs, start } = bench()
    start()
    queue.add('polite')
    queue.add('deaf')
    await clock.advance(0)
    runs[0]?.context.signal.addEventListener('abort', () => runs[0]?.finish())
    const patience = new AbortController()
    const drained = queue.drain(patience.signal)
    patience.abort()
    await clock.advance(1_000)
    expect(await drained).toEqual({ dropped: 0, unfinished: ['deaf'] })
  })
})
