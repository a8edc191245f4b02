import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { run, runOk } from '../host/index.ts'
import { certificateFolder } from './certificates.ts'
import { apiServerUrl, type ClusterRecord, writeRecord } from './cluster-record.ts'

/** Adds the cluster's context to a kubeconfig of the user's. kubectl edits it, so all else in it stays. */
export async function addToUserKubeconfig(record: ClusterRecord, program: string, path: string): Promise<void> {
  // Down may run in another folder than up.
  const file = resolve(path)
  // Noted first: a cluster that is interrupted here still knows where to clean up.
  if (!record.userKubeconfigs.includes(file))
    writeRecord({ ...record, userKubeconfigs: [...record.userKubeconfigs, file] })
  const name = `fettle-dev-${record.name}`
  const certificate = (part: string) => join(certificateFolder(record), part)
  const config = (...args: string[]) => runOk([program, 'kubectl', '--kubeconfig', file, 'config', ...args])
  await config(
    'set-cluster',
    name,
    `--server=${apiServerUrl(record)}`,
    `--certificate-authority=${certificate('ca.crt')}`,
    '--embed-certs',
  )
  await config(
    'set-credentials',
    name,
    `--client-certificate=${certificate('admin.crt')}`,
    `--client-key=${certificate('admin.key')}`,
    '--embed-certs',
  )
  await config('set-context', name, `--cluster=${name}`, `--user=${name}`)
  await config('use-context', name)
}

export async function removeFromUserKubeconfigs(record: ClusterRecord, program: string): Promise<void> {
  for (const file of record.userKubeconfigs) if (existsSync(file)) await removeFrom(file, record, program)
}

async function removeFrom(file: string, record: ClusterRecord, program: string): Promise<void> {
  const name = `fettle-dev-${record.name}`
  const config = (...args: string[]) => run([program, 'kubectl', '--kubeconfig', file, 'config', ...args])
  const current = await config('current-context')
  if (current.stdout.trim() === name) await config('unset', 'current-context')
  // An entry that the user removed already is no error.
  await config('delete-context', name)
  await config('delete-cluster', name)
  await config('delete-user', name)
}
