import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { maintenanceBudget, maintenanceBudgets, maintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import { adminKubeconfig, controlPlaneProgram, places } from '../../src/dev/index.ts'
import { runOk } from '../../src/host/index.ts'
import { type ConnectedClient, connect, type KubeObject, loadKubeconfig, type Resource } from '../../src/kube/index.ts'
import { eventually, sharedRecord } from './e2e-cluster.ts'
import { repository } from './fettle-process.ts'

/** An object of ours as the wire has it: tests write what the types forbid. */
export interface Loose extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

export interface ApiObjects {
  readonly admin: ConnectedClient
  /** What the real kubectl prints. */
  kubectl(...args: string[]): Promise<string>
  /** A valid request with these fields changed; gone when the test is over. */
  createRequest(spec?: object): Promise<Loose & { readonly metadata: { readonly name: string } }>
  tryRequest(spec: object): Promise<Loose>
  /** Nothing is stored, so the one budget of the cluster stays as it is. */
  tryBudget(spec: object, name?: string): Promise<Loose>
  /** As the controller does it: one PUT of everything, with the version that was read. */
  writeStatus(resource: Resource, name: string, status: object): Promise<Loose>
}

export const uniqueName = () => `e2e-${randomBytes(5).toString('hex')}`

/** Installs our CRDs from the committed manifests and speaks about their objects, for all tests of a file. */
export function useApiObjects(): () => ApiObjects {
  let api: ApiObjects | undefined
  beforeAll(async () => {
    api = await prepare()
  })
  afterAll(() => api?.admin.close())
  return () => {
    if (!api) throw new Error('the CRDs are installed before the first test, not before that')
    return api
  }
}

async function prepare(): Promise<ApiObjects> {
  const kubeconfig = adminKubeconfig(sharedRecord())
  const admin = connect(await loadKubeconfig({ path: kubeconfig }), { component: 'e2e' })
  const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
  const kubectl = async (...args: string[]) =>
    (await runOk([program, 'kubectl', '--kubeconfig', kubeconfig, ...args], { cwd: repository })).stdout
  await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=e2e', '-f', 'crds/')
  await eventually(() => kubectl('get', 'mreq,mbudget'), { withinMs: 30_000, everyMs: 200 })

  const request = (spec: object): Loose => ({
    metadata: { name: uniqueName() },
    spec: { ...maintenanceRequest.example.spec, ...spec },
  })
  return {
    admin,
    kubectl,
    async createRequest(spec = {}) {
      const created = await admin.create(maintenanceRequests, request(spec))
      const { name = '', uid = '' } = created.metadata
      onTestFinished(() => admin.delete(maintenanceRequests, { name }, { uid }))
      return { ...created, metadata: { ...created.metadata, name } }
    },
    tryRequest: (spec) => admin.create(maintenanceRequests, request(spec), { dryRun: true }),
    tryBudget: (spec, name = maintenanceBudget.example.name) => {
      const budget: Loose = { metadata: { name }, spec: { ...spec } }
      return admin.apply(maintenanceBudgets, budget, { fieldManager: 'e2e', force: true, dryRun: true })
    },
    async writeStatus(resource, name, status) {
      const current = await admin.get<Loose>(resource, { name })
      const next: Loose = { ...current, status: { ...current.status, ...status } }
      return admin.replace(resource, next, { subresource: 'status', fieldManager: 'fettle-controller' })
    },
  }
}

/** What the API server says when it does not accept the object. */
export async function refusal(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => new Error('it was accepted'),
    (error: unknown) => error,
  )
  expect(error).toMatchObject({ code: 'Invalid' })
  return String(error)
}
