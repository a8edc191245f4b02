import type { KubeClient } from '../kube/index.ts'
import type { Key } from './key.ts'
import { readCatalog } from './observe/catalog.ts'
import type { ServedKind } from './observed.ts'

class UnknownKind extends Error {
  readonly code = 'UnknownKind'
}

/** How the server serves the kind of an object that a person named. */
export async function servedKind(client: KubeClient, { group, kind }: Key, signal: AbortSignal): Promise<ServedKind> {
  const catalog = await readCatalog(client, signal)
  const [served] = catalog.versionsOf(group, kind)
  if (served) return served
  throw new UnknownKind(
    `the server knows no kind ${group === '' ? kind : `${kind}.${group}`}; say it as Kind or Kind.group`,
  )
}
