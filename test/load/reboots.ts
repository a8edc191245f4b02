import { type Availability, runProbedWorkload } from '../support/probed-workload.ts'
import type { RealCluster } from '../support/real-cluster.ts'
import { type RealHost, realHost, setBudget, untilPhase } from '../support/real-host.ts'

export interface RebootsOptions {
  /** Real nodes alone, with our programs installed. */
  readonly cluster: RealCluster
  /** What the probed pods run. */
  readonly image: string
  readonly count: number
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

export interface RebootsReport {
  readonly cycles: number
  /** From the file that asks to the node that takes pods again. */
  readonly seconds: { readonly median: number; readonly p95: number; readonly longest: number }
  readonly availability: Availability
  readonly problems: readonly string[]
}

/** Reboots one machine after the other, as a package manager asks for it, while pods on them are asked all the time. */
export async function runReboots({ cluster, image, count, signal, log }: RebootsOptions): Promise<RebootsReport> {
  await setBudget(cluster)
  const hosts = cluster.nodes.map((name) => realHost(cluster, name))
  const workload = await runProbedWorkload(cluster.admin, image)
  const seconds: number[] = []
  const problems: string[] = []
  while (seconds.length < count && !signal.aborted) {
    const host = hosts[seconds.length % hosts.length] as RealHost
    const cycle = await rebootOnce(cluster, host)
    seconds.push(cycle.seconds)
    problems.push(...cycle.problems)
    const { lowest } = workload.seen()
    log(
      `${seconds.length}: ${host.name} was back after ${cycle.seconds.toFixed(1)} s; at least ${lowest} pods answered`,
    )
  }
  const availability = await workload.stop()
  if (availability.lowest < availability.promised)
    problems.push(`${availability.lowest} pods answered where ${availability.promised} were promised`)
  return {
    cycles: seconds.length,
    seconds: { median: quantile(seconds, 0.5), p95: quantile(seconds, 0.95), longest: quantile(seconds, 1) },
    availability,
    problems,
  }
}

async function rebootOnce(
  cluster: RealCluster,
  host: RealHost,
): Promise<{ readonly seconds: number; readonly problems: readonly string[] }> {
  await host.untilIdle()
  const before = await host.bootID()
  const startedAt = performance.now()
  await host.sh('touch /run/reboot-required')
  const { status } = await untilPhase(cluster, await host.asked(), 'Done')
  const seconds = (performance.now() - startedAt) / 1000
  const problems: string[] = []
  if ((await host.bootID()) === before) problems.push(`${host.name} is in the same boot as before`)
  if (status?.outcome !== 'Completed') problems.push(`${host.name}: ${status?.outcome}`)
  if (status?.reboots?.count !== 1) problems.push(`${host.name} rebooted ${status?.reboots?.count} times`)
  return { seconds, problems }
}

/** The value below which this share of all lies, rounded to tenths. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
  return Math.round(value * 10) / 10
}
