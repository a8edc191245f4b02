import { randomBytes } from 'node:crypto'
import type { ConnectedClient, KubeObject, Patch, Resource } from '../../src/kube/index.ts'
import { type Applied, type ApplyObjectOptions, applyObject } from '../../src/sync/apply/apply-object.ts'
import { compareWithReference } from '../../src/sync/apply/projection.ts'
import { replaceObject } from '../../src/sync/apply/replace.ts'
import type { DeclaredObject } from '../../src/sync/declared.ts'
import type { JsonObject } from '../../src/sync/json.ts'
import type { ObservedMeta, ObservedObject } from '../../src/sync/observed.ts'
import type { Difference } from '../../src/sync/plan/steps.ts'
import { carefulDeletion, type Policy } from '../../src/sync/policy.ts'
import { systemClock } from '../../src/time/index.ts'
import type { Ground } from './e2e-cluster.ts'

export const manager = 'fettle-sync-shop'
export const partOf = 'applyset.kubernetes.io/part-of'
export const hashKey = randomBytes(32)
const policy: Policy = {
  name: 'shop',
  namespaces: ['shop'],
  mode: 'adopt',
  adoption: 'always',
  adoptFrom: [],
  clusterKinds: [],
  ignore: [],
  deletion: carefulDeletion,
  conflicts: 'fail',
}
export type Manifest = JsonObject & { readonly metadata: JsonObject & { readonly name: string } }

/** One object in git and in the cluster, with what a Sync remembers of it. */
export class Thing {
  readonly ground: Ground
  readonly resource: Resource
  readonly options: ApplyObjectOptions
  declared: DeclaredObject
  last: Applied | undefined
  isAutoscaled = true

  constructor(ground: Ground, resource: Resource, manifest: Manifest, more: Partial<Policy> = {}) {
    this.ground = ground
    this.resource = resource
    this.options = { manager, setId: 'applyset-x-v1', hashKey, policy: { ...policy, ...more }, signal: ground.signal }
    this.declared = this.#declare(manifest)
  }

  get admin(): ConnectedClient {
    return this.ground.admin
  }

  get ref() {
    return { name: this.declared.key.name, namespace: this.ground.namespace }
  }

  #declare(manifest: Manifest): DeclaredObject {
    const { group, version, kind } = this.resource
    const apiVersion = group === '' ? version : `${group}/${version}`
    const { namespace } = this.ground
    return {
      key: { group, kind, namespace, name: manifest.metadata.name },
      apiVersion,
      body: { apiVersion, kind, ...manifest, metadata: { ...manifest.metadata, namespace } },
      from: { path: 'shop.yaml', document: 1, line: 3 },
    }
  }

  commit(manifest: Manifest): void {
    this.declared = this.#declare(manifest)
  }

  async observed(): Promise<ObservedObject> {
    const body = (await this.admin.get<KubeObject>(this.resource, this.ref)) as unknown as JsonObject
    const metadata = body['metadata'] as unknown as ObservedMeta
    const { key, apiVersion } = this.declared
    return { key, uid: metadata.uid ?? '', apiVersion, metadata, body }
  }

  /** As the first run does it, with nothing known. */
  async create(): Promise<Applied> {
    this.last = await applyObject(
      this.admin,
      this.resource,
      { declared: this.declared, isAdopted: false },
      this.options,
    )
    return this.last
  }

  async update(isAdopted = false): Promise<Applied> {
    const live = await this.observed()
    this.last = await applyObject(
      this.admin,
      this.resource,
      { declared: this.declared, live, isAdopted },
      { ...this.options, isAutoscaled: this.isAutoscaled },
    )
    return this.last
  }

  async replace(): Promise<Applied> {
    const waits = { clock: systemClock, random: Math.random, deadlineMs: 30_000 }
    const step = { declared: this.declared, live: await this.observed() }
    this.last = await replaceObject(this.admin, this.resource, step, { ...this.options, ...waits })
    return this.last
  }

  /** Requests so far, by method. */
  requests(): number {
    return Object.values(this.admin.counters().requests).reduce((sum, count) => sum + count, 0)
  }

  async compare(): Promise<Difference> {
    const { declared, last } = this
    const member = {
      key: declared.key,
      apiVersion: declared.apiVersion,
      ...(last ? { uid: last.uid } : {}),
      ...(last?.reference ? { reference: last.reference } : {}),
    }
    return compareWithReference(declared, member, await this.observed(), manager, hashKey)
  }

  async read(): Promise<JsonObject> {
    return (await this.observed()).body ?? {}
  }

  patch(body: object, type: 'merge' | 'strategic' = 'merge', fieldManager = 'kubectl-edit'): Promise<unknown> {
    return this.admin.patch(this.resource, this.ref, { type, body } as Patch, { fieldManager })
  }

  json(body: readonly object[], fieldManager = 'kubectl-patch'): Promise<unknown> {
    return this.admin.patch(this.resource, this.ref, { type: 'json', body } as Patch, { fieldManager })
  }
}
