import { createHash, createHmac } from 'node:crypto'
import type { DeclaredObject } from '../declared.ts'
import type { Inventory } from '../inventory-record.ts'
import { canonicalText, isObject, type JsonObject } from '../json.ts'
import { compareKeys, type Key, keyId } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { PlanInput, Step } from './steps.ts'

type HashKey = PlanInput['hashKey']

const shownDigits = 16

/** One name for all that would be done, and for nothing else: not for times, files or the reasons. */
export function planHash(steps: readonly Step[], setId: string, hashKey: HashKey): string {
  const deeds = steps.flatMap((step) => deedText(step, hashKey) ?? []).sort()
  return digest(canonicalText([setId, ...deeds]), hashKey).slice(0, shownDigits)
}

function deedText(step: Step, hashKey: HashKey): string | undefined {
  const name = `${step.do} ${keyId(step.key)}`
  switch (step.do) {
    case 'create':
      return `${name} ${bodyHash(step.declared, hashKey)}`
    case 'update':
    case 'adopt':
      return [name, step.uid, bodyHash(step.declared, hashKey), ...(step.removes ?? [])].join(' ')
    case 'delete':
      return `${name} ${step.uid}`
    case 'forget':
    case 'conflict':
      return name
    case 'keep':
    case 'wait':
      return undefined
  }
}

function bodyHash({ key, body }: DeclaredObject, hashKey: HashKey): string {
  const isGuessable = hashKey === undefined && key.group === '' && key.kind === 'Secret'
  return digest(canonicalText(isGuessable ? withoutValues(body) : body), hashKey)
}

function withoutValues(secret: JsonObject): JsonObject {
  const names = (value: JsonObject[string] | undefined) => (isObject(value) ? Object.keys(value).sort() : [])
  return { ...secret, data: names(secret['data']), stringData: names(secret['stringData']) }
}

function digest(text: string, hashKey: HashKey): string {
  const hash = hashKey === undefined ? createHash('sha256') : createHmac('sha256', hashKey)
  return hash.update(text).digest('hex')
}

export interface Stranger {
  readonly key: Key
  readonly uid: string
}

/**
 * Names the list of strangers that a person has to agree to before the first of them goes. What follows the dot is
 * the reach of the list: strangers that come later need no new agreement, a wider reach does.
 */
export function openingHash(strangers: readonly Stranger[], policy: Policy): string {
  const list = [...strangers].sort((one, other) => compareKeys(one.key, other.key))
  const names = list.map(({ key, uid }) => `${keyId(key)} ${uid}`)
  return `${digest(canonicalText(names), undefined).slice(0, shownDigits)}.${reachOf(policy)}`
}

export function isOpened(openingHash: string | undefined, policy: Policy): boolean {
  return openingHash?.split('.')[1] === reachOf(policy)
}

function reachOf({ namespaces, ignore, adoptFrom, deletion }: Policy): string {
  const rules = ignore.map((rule) => canonicalText({ ...rule }))
  const { allowDataDeletion, allowAggregated = [] } = deletion
  const lists = [namespaces, rules, adoptFrom, allowAggregated].map((list) => [...list].sort())
  const reach = [...lists, allowDataDeletion]
  return digest(canonicalText(reach), undefined).slice(0, 8)
}

/** What decides, besides the files, what a commit declares. */
export interface Reading {
  /** Of a repository elsewhere. A folder of this machine has another name on the next one. */
  readonly url?: string
  readonly path: string
  readonly ignoreFiles: readonly string[]
  readonly namespaceRule: string
  readonly namespaces: readonly string[]
}

/**
 * Names what a commit declares. Before it stand, each with a dot, where the manifests come from, and how they were read:
 * who reads them otherwise expects other objects.
 */
export function contentDigest(declared: string, reading: Reading): string {
  const { url = '', path, ignoreFiles, namespaceRule, namespaces } = reading
  const place = [url, path, ignoreFiles]
  const way = [path, ignoreFiles, namespaceRule, namespaces]
  return [...[place, way].map((part) => digest(canonicalText(part), undefined).slice(0, 8)), declared].join('.')
}

function partsOf(contentDigest: string | undefined): {
  readonly place: string | undefined
  readonly way: string | undefined
  readonly declared: string | undefined
} {
  const [declared, way, place] = contentDigest?.split('.').reverse() ?? []
  return { place, way, declared }
}

/** Whether the manifests come from another place than those of the commit in force: that may be another Sync by mistake. */
export function isOtherPlace(inForce: Pick<Inventory, 'digest'>, found: string | undefined): boolean {
  const [before, now] = [partsOf(inForce.digest).place, partsOf(found).place]
  return before !== undefined && now !== undefined && before !== now
}

/** The content, as if it came from where that in force comes from: nobody has agreed yet that it comes from elsewhere. */
export function withPlaceInForce(inForce: Pick<Inventory, 'digest'>, found: string): string {
  const { way, declared } = partsOf(found)
  return [partsOf(inForce.digest).place, way, declared].join('.')
}

/** Whether the commit in force, read in the same way, declared something else. */
export function isOtherContent(
  inForce: Pick<Inventory, 'revision' | 'digest'>,
  revision: string,
  found: string | undefined,
): boolean {
  const [before, now] = [partsOf(inForce.digest), partsOf(found)]
  if (inForce.revision !== revision || before.declared === undefined || now.declared === undefined) return false
  return before.place === now.place && before.way === now.way && before.declared !== now.declared
}
