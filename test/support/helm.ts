import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { ensureBuilt } from '../../src/dev/build.ts'
import { places } from '../../src/dev/index.ts'
import { type RunResult, run } from '../../src/host/index.ts'
import type { KubeObject } from '../../src/kube/index.ts'
import { repository } from './fettle-process.ts'
import { plainReport } from './shared-cluster.ts'

export const chart = join(repository, 'charts/fettle')

/** The real helm, built once from its Go module. Nothing of the machine's own helm is read or written. */
export async function helmProgram(): Promise<(...args: string[]) => Promise<RunResult>> {
  const { working } = plainReport()
  const folder = await ensureBuilt('helm', places(), ({ done, total, usually }) =>
    working(`building helm once: ${done} of about ${total} packages; usually ${usually} on 2 cores`),
  )
  const home = join(places().cache, 'helm-home')
  const env = { HELM_CONFIG_HOME: home, HELM_CACHE_HOME: home, HELM_DATA_HOME: home, KUBECONFIG: '/dev/null' }
  return (...args) => run([join(folder, 'helm'), ...args], { env, deadlineMs: 400_000, cwd: repository })
}

/** What `helm template` makes of the chart, without asking a cluster. */
export function renderArguments(...more: string[]): string[] {
  return ['template', 'fettle', chart, '--namespace', 'fettle-system', '--kube-version', '1.36.3', ...more]
}

export function documentsOf(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
}
