import { openSync, readSync } from 'node:fs'

/** Runs inside a contender: measures it the same way whoever it is, and speaks to the bench on stdout. */
export interface Meter {
  readonly changes: number
  synced(): void
  /** All changes have arrived: print the figures and end. */
  finished(): void
  /** The same for somebody who follows no changes. */
  syncedOnly(): void
}

export function startMeter(): Meter {
  const changes = Number(process.env['BENCH_CHANGES'] ?? 0)
  const startedAt = performance.now()
  const longestTurn = process.env['BENCH_MODE'] === 'turns' ? watchTurns() : undefined
  let firstSyncSeconds = 0
  let longestBlockMs = 0
  let cpuAtSync = 0
  const noteSync = () => {
    firstSyncSeconds = (performance.now() - startedAt) / 1000
    longestBlockMs = longestTurn?.() ?? 0
    cpuAtSync = cpuSeconds()
  }
  const end = (more: object) => {
    const cost = {
      firstSyncSeconds,
      cpuSeconds: cpuAtSync,
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
      peakRssMiB: process.resourceUsage().maxRSS / 1024,
      ...more,
    }
    say({ metrics: longestTurn ? { longestBlockMs } : cost })
    process.exit(0)
  }
  return {
    changes,
    synced() {
      noteSync()
      say({ synced: true })
    },
    finished: () => end({ eventsPerSecond: changes / (cpuSeconds() - cpuAtSync) }),
    syncedOnly() {
      noteSync()
      end({})
    },
  }
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/**
 * CPU time of this thread between two turns, from the scheduler: waiting for data, or for a core that another
 * process has, does not count. It keeps the loop spinning, so it is never on while cost is measured.
 */
function watchTurns(): () => number {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const buffer = Buffer.alloc(128)
  const cpuMs = () => Number(buffer.toString('latin1', 0, readSync(file, buffer, 0, 128, 0)).split(' ')[0]) / 1e6
  let last = cpuMs()
  let longest = 0
  // Start-up (loading the bundle) is not a turn of a running controller.
  setImmediate(function turn() {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
    setImmediate(turn)
  })
  return () => longest
}
