import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runOk } from '../host/index.ts'
import type { ClusterRecord } from './cluster-record.ts'

export interface CertificateOrder {
  /** File name without ending. An order whose file exists is already filled. */
  readonly name: string
  readonly commonName: string
  readonly organizations?: readonly string[]
  readonly ips?: readonly string[]
  readonly dnsNames?: readonly string[]
}

export interface IssuedCertificate {
  readonly certPath: string
  readonly keyPath: string
  readonly certPem: string
  readonly keyPem: string
}

export function certificateFolder(record: Pick<ClusterRecord, 'folder'>): string {
  return join(record.folder, 'certificates')
}

/** Issues certificates of the cluster's own authority, in one call of the control-plane program. */
export async function issueCertificates(
  record: Pick<ClusterRecord, 'folder'>,
  program: string,
  orders: readonly CertificateOrder[],
): Promise<IssuedCertificate[]> {
  const dir = certificateFolder(record)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  await runOk([program, 'certificates'], { input: JSON.stringify({ dir, certificates: orders }) })
  return orders.map(({ name }) => {
    const [certPath, keyPath] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)]
    return { certPath, keyPath, certPem: readFileSync(certPath, 'utf8'), keyPem: readFileSync(keyPath, 'utf8') }
  })
}
