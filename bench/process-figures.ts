import { readFileSync } from 'node:fs'

/** What any process has cost so far, from outside, and what the machine itself was denied. */

export function cpuSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticksPerSecond = 100
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

export function rssMiBOf(pid: number | undefined): number {
  return memoryMiB(pid, 'VmRSS')
}

/** The most that it ever had. */
export function peakRssMiBOf(pid: number | undefined): number {
  return memoryMiB(pid, 'VmHWM')
}

function memoryMiB(pid: number | undefined, what: 'VmRSS' | 'VmHWM'): number {
  return (
    Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  )
}

/** Starts to count; the answer is how much of this machine's time went to other machines since, in percent. */
export function countStolen(): () => number {
  const start = cpuTimes()
  return () => {
    const end = cpuTimes()
    const passed = end.map((ticks, index) => ticks - (start[index] ?? 0))
    const all = passed.reduce((sum, ticks) => sum + ticks, 0)
    return all === 0 ? 0 : (100 * (passed[stolenColumn] ?? 0)) / all
  }
}

const stolenColumn = 7

/** user, nice, system, idle, iowait, irq, softirq, steal. */
function cpuTimes(): readonly number[] {
  const line = readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  return line.split(/\s+/).slice(1, 9).map(Number)
}
