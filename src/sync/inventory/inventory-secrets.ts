import { createHash, randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  hasCode,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ObjectMeta,
  type ObjectRef,
  resources,
} from '../../kube/index.ts'
import { managerOf, type Policy } from '../policy.ts'
import { idLabel, isForeignTooling, type SetParent, setIdOf, toolingAnnotation } from './apply-set.ts'
import { InventoryFault } from './inventory-fault.ts'
import {
  currentFormat,
  emptyState,
  type ParentState,
  readShard,
  readState,
  stateText,
  unpacked,
} from './record-text.ts'
import type { StoredShard } from './shards.ts'

/** On everything that belongs to the bookkeeping of a Sync: it is found by one list, and never taken for a stranger. */
export const syncLabel = 'fettle.dev/sync'
export const inventoryType = 'fettle.dev/sync-inventory'

const hashKeyBytes = 32
const mostWriteAttempts = 3

export interface SecretObject extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}

export interface StoredParent {
  readonly metadata: ObjectMeta
  readonly state: ParentState
  readonly hashKey: Buffer
  /** What could not be read was replaced, and has to be written. */
  readonly isMended?: true
}

export type ShardSecret = StoredShard & { readonly metadata: ObjectMeta }

/** What the cluster holds, as far as is known here. */
export interface Held {
  readonly parent: StoredParent | undefined
  readonly shards: ReadonlyMap<number, ShardSecret>
  /** What a person approved since it was read. Who saves does not know of it, and must not lose it. */
  readonly approved?: readonly string[]
}

export function newHashKey(): Buffer {
  return randomBytes(hashKeyBytes)
}

/** The Secrets of one inventory, by their names. */
export class InventorySecrets {
  readonly name: string
  readonly parent: SetParent
  readonly setId: string
  readonly labels: Readonly<Record<string, string>>
  readonly title: string
  readonly #client: KubeClient

  constructor(client: KubeClient, { name, namespaces }: Pick<Policy, 'name' | 'namespaces'>) {
    const [namespace] = namespaces
    if (namespace === undefined) throw new RangeError(`the Sync ${name} has no namespace to keep its inventory in`)
    this.#client = client
    this.name = name
    this.parent = { name: managerOf(name), namespace, kind: 'Secret', group: '' }
    this.setId = setIdOf(this.parent)
    this.labels = { [syncLabel]: labelValue(name) }
    this.title = `the inventory of Sync ${name} (Secret ${namespace}/${this.parent.name})`
  }

  shardName(index: number): string {
    return `${this.parent.name}-inv-${index}`
  }

  /** What of an object's metadata is sent back: all that others put there, and what guards the write. */
  metadataOf(name: string, known: ObjectMeta | undefined): ObjectMeta {
    const { uid, resourceVersion, annotations, finalizers, ownerReferences } = known ?? {}
    return {
      name,
      namespace: this.parent.namespace,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(annotations ? { annotations } : {}),
      ...(finalizers ? { finalizers } : {}),
      ...(ownerReferences ? { ownerReferences } : {}),
    }
  }

  /** What is damaged is told; if that does not throw, it is left out. What belongs to others always throws. */
  async read(signal: AbortSignal, onDamage: (fault: InventoryFault) => void): Promise<Held> {
    const shards = new Map<number, ShardSecret>()
    let parent: SecretObject | undefined
    const { namespace } = this.parent
    const labelSelector = `${syncLabel}=${this.labels[syncLabel]}`
    for await (const { items } of this.#client.list<SecretObject>(resources.secrets, {
      namespace,
      labelSelector,
      signal,
    })) {
      for (const secret of items) {
        const index = this.#indexOf(secret)
        if (secret.metadata.name === this.parent.name) parent = secret
        else if (index !== undefined)
          shards.set(index, { ...this.#readShard(secret, onDamage), metadata: secret.metadata })
      }
    }
    // One that lacks our label is somebody else's, or was tampered with.
    parent ??= await this.#get(this.parent, signal)
    if (parent) {
      const read = this.#readParent(parent, onDamage)
      for (let index = 0; index < read.state.shards; index++)
        if (!shards.has(index)) onDamage(this.#damaged(this.shardName(index), 'is missing'))
      return { parent: read, shards }
    }
    if (shards.size > 0)
      onDamage(this.#damaged(this.parent.name, `is gone, but ${shards.size} of its shards are there`))
    return { parent: undefined, shards }
  }

  /** The parent alone; undefined when there is none. */
  async readParent(signal: AbortSignal): Promise<StoredParent | undefined> {
    const secret = await this.#get(this.parent, signal)
    return secret && this.#readWholeParent(secret)
  }

  /**
   * The parent as it is now, if it is the one that was read, but for what was approved since: a person may do that beside
   * the writer. Undefined if anything else is new.
   */
  async sinceRead(known: StoredParent, signal: AbortSignal): Promise<StoredParent | undefined> {
    const secret = await this.#get(this.parent, signal)
    if (!secret || secret.metadata.uid !== known.metadata.uid) return undefined
    if (secret.metadata.resourceVersion === known.metadata.resourceVersion) return known
    try {
      const now = this.#readWholeParent(secret)
      return isSameButApprovals(now, known) ? now : undefined
    } catch (error) {
      if (error instanceof InventoryFault) return undefined
      throw error
    }
  }

  /** A write whose answer is lost is looked for before it is repeated: it may have happened. */
  async write(secret: Pick<SecretObject, 'metadata' | 'data'>, signal: AbortSignal): Promise<ObjectMeta> {
    const object = { ...secret, type: inventoryType }
    const options = { signal, fieldManager: 'fettle-sync-inventory' }
    const isNew = secret.metadata.resourceVersion === undefined
    for (let attempt = 1; ; attempt++) {
      try {
        const { metadata } = isNew
          ? await this.#client.create<SecretObject>(resources.secrets, object, options)
          : await this.#client.replace<SecretObject>(resources.secrets, object, options)
        return metadata
      } catch (error) {
        const isInDoubt = hasCode(error, 'UnknownOutcome')
        // One that was in doubt may arrive after all, before its repetition.
        const done = isInDoubt || attempt > 1 ? await this.#foundWritten(secret, signal) : undefined
        if (done) return done
        if (!isInDoubt || attempt >= mostWriteAttempts) throw this.#writeFault(secret.metadata, error)
      }
    }
  }

  async #foundWritten(
    { metadata, data }: Pick<SecretObject, 'metadata' | 'data'>,
    signal: AbortSignal,
  ): Promise<ObjectMeta | undefined> {
    const stored = await this.#get({ name: metadata.name ?? '', namespace: this.parent.namespace }, signal)
    const isAsSent =
      isDeepStrictEqual(stored?.data, data) &&
      isDeepStrictEqual(stored?.metadata.labels, metadata.labels) &&
      isDeepStrictEqual(stored?.metadata.annotations, metadata.annotations)
    return isAsSent ? stored?.metadata : undefined
  }

  #writeFault({ namespace, name }: ObjectMeta, cause: unknown): unknown {
    if (!hasCode(cause, 'Conflict', 'AlreadyExists', 'NotFound')) return cause
    const what = hasCode(cause, 'AlreadyExists')
      ? 'is there already'
      : hasCode(cause, 'Conflict')
        ? 'was written by somebody else'
        : 'or its namespace is gone'
    const message = `Secret ${namespace}/${name} ${what}: ${this.title} has to be read again`
    return new InventoryFault('Conflict', message, { cause })
  }

  #indexOf({ metadata: { name = '' } }: SecretObject): number | undefined {
    const prefix = this.shardName(0).slice(0, -1)
    const rest = name.slice(prefix.length)
    return name.startsWith(prefix) && /^(0|[1-9]\d{0,4})$/.test(rest) ? Number(rest) : undefined
  }

  async #get(ref: ObjectRef, signal: AbortSignal): Promise<SecretObject | undefined> {
    try {
      return await this.#client.get<SecretObject>(resources.secrets, ref, { signal })
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  #readShard(secret: SecretObject, onDamage: (fault: InventoryFault) => void): StoredShard {
    const text = unpackedText(secret, 'members')
    const content = text === undefined ? { problem: 'it cannot be unpacked' } : readShard(text)
    if (!('problem' in content)) return { text: text ?? '', content }
    onDamage(this.#damaged(secret.metadata.name ?? '', `cannot be read: its members: ${content.problem}`))
    return { text: '', content: { members: [], strangers: {} } }
  }

  #readWholeParent(secret: SecretObject): StoredParent {
    return this.#readParent(secret, (fault) => {
      throw fault
    })
  }

  #readParent(secret: SecretObject, onDamage: (fault: InventoryFault) => void): StoredParent {
    const { metadata, data } = secret
    this.#assertOurs(secret)
    const text = unpackedText(secret, 'state')
    const state = text === undefined ? { problem: 'it cannot be unpacked' } : readState(text)
    const hashKey = Buffer.from(data?.['hashKey'] ?? '', 'base64')
    const isKeyGood = hashKey.length === hashKeyBytes
    if ('problem' in state) onDamage(this.#damaged(this.parent.name, `cannot be read: its state: ${state.problem}`))
    else if (state.format > currentFormat)
      throw new InventoryFault(
        'NewerFormat',
        `${this.title} was written by a newer version, in format ${state.format}; use that version`,
      )
    else if (state.sync !== this.name) throw this.#taken(`belongs to another Sync: ${state.sync}`)
    if (!isKeyGood) onDamage(this.#damaged(this.parent.name, 'has no key for hashes'))
    return {
      metadata,
      state: 'problem' in state ? { ...emptyState, sync: this.name } : state,
      hashKey: isKeyGood ? hashKey : newHashKey(),
      ...('problem' in state || !isKeyGood ? { isMended: true } : {}),
    }
  }

  #assertOurs({ metadata: { labels, annotations }, type }: SecretObject): void {
    const unsaid = 'it does not say to which'
    if (type !== inventoryType) throw this.#taken(`is no inventory: its type is ${type ?? 'none'}`)
    if (isForeignTooling(annotations))
      throw this.#taken(`belongs to another tool: ${annotations?.[toolingAnnotation] ?? unsaid}`)
    const sync = labels?.[syncLabel]
    if (sync !== this.labels[syncLabel]) throw this.#taken(`belongs to another Sync: ${sync ?? unsaid}`)
    // A copy that was restored into another namespace knows objects of where it came from.
    if (labels?.[idLabel] !== this.setId) throw this.#taken('was copied from elsewhere: its set has another id')
  }

  #taken(what: string): InventoryFault {
    const remedy = 'give the Sync another name, or remove that Secret if nothing needs it'
    return new InventoryFault('Foreign', `${this.title} ${what}; ${remedy}`)
  }

  #damaged(name: string, what: string): InventoryFault {
    return new InventoryFault(
      'Damaged',
      `Secret ${this.parent.namespace}/${name} of Sync ${this.name} ${what}; restore it from a backup with its labels, ` +
        'or let `fettle sync verify` find the objects of the set by their label',
    )
  }
}

function isSameButApprovals(one: StoredParent, other: StoredParent): boolean {
  const rest = ({ state }: StoredParent) => stateText({ ...state, facts: { ...state.facts, approvals: [] } })
  return one.hashKey.equals(other.hashKey) && rest(one) === rest(other)
}

function unpackedText({ data }: SecretObject, field: string): string | undefined {
  try {
    return unpacked(Buffer.from(data?.[field] ?? '', 'base64'))
  } catch {
    return undefined
  }
}

/** Values of labels end at 63 characters; names of Syncs need not. */
export function labelValue(name: string): string {
  if (name.length <= 63) return name
  return `${name.slice(0, 50)}-${createHash('sha256').update(name).digest('hex').slice(0, 12)}`
}
