import { readFileSync } from 'node:fs'

/** What any process has cost so far, from outside. */

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
