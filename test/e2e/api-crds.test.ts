import { describe, expect, test, vi } from 'vitest'
import {
  customResourceDefinitions,
  type MaintenanceRequestStatus,
  maintenanceRequest,
  maintenanceRequests,
} from '../../src/api/index.ts'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { type Loose, refusal, uniqueName, useApiObjects } from '../support/api-objects.ts'

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

const api = useApiObjects()

describe('the definitions', () => {
  test('are established, structural, and applying them again changes nothing', async () => {
    for (const crd of customResourceDefinitions()) {
      const before = await api().admin.get<Definition>(resources.customResourceDefinitions, crd.metadata)
      const conditions = Object.fromEntries(before.status?.conditions?.map(({ type, status }) => [type, status]) ?? [])
      expect(conditions).toMatchObject({ Established: 'True', NamesAccepted: 'True' })
      expect(conditions).not.toHaveProperty('NonStructuralSchema')
      const options = { fieldManager: 'e2e', force: true }
      const after = await api().admin.apply<KubeObject>(resources.customResourceDefinitions, crd, options)
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    }
  })

  test('explain their fields to kubectl', async () => {
    // The server publishes the schema some time after the kind itself.
    await vi.waitFor(
      async () =>
        expect(await api().kubectl('explain', 'mreq.spec.want')).toContain('Return says: done, give the node back'),
      { timeout: 60_000, interval: 500 },
    )
  })
})

describe('a MaintenanceRequest', () => {
  test('is accepted and gets its defaults', async () => {
    expect((await api().createRequest()).spec).toEqual({
      ...maintenanceRequest.example.spec,
      want: 'Out',
      priority: 0,
      service: { cordon: true, drain: true },
    })
    expect((await api().createRequest({ service: { drain: false } })).spec?.['service']).toEqual({
      cordon: true,
      drain: false,
    })
  })

  test.for([
    ['requestedBy', 'jdoe-at-example'],
    ['windows', ['night']],
    ['bypassWindow', 'the disk is on fire'],
    ['drain', { deadline: '30m', onDeadline: 'Requeue', gracePeriodMax: '5m', backend: 'Eviction' }],
    ['deadlines', { work: '1h', return: '15m', maxReboots: 3 }],
    ['work', 'Host'],
    ['work', 'Reboot'],
  ] as const)('keeps %s as it was written (case %#)', async ([field, value]) => {
    expect((await api().createRequest({ [field]: value })).spec?.[field]).toEqual(value)
  })

  test.for([
    ['priority', 1001],
    ['priority', -1001],
    ['reason', ''],
    ['reason', 'x'.repeat(257)],
    ['nodeName', ''],
    ['want', 'Perhaps'],
    ['drain', { deadline: 'a while' }],
  ] as const)('is refused with a %s out of range (case %#)', async ([field, value]) => {
    expect(await refusal(api().tryRequest({ [field]: value }))).toContain(`spec.${field}`)
  })

  test('may change its priority, and may want Return but never Out again', async () => {
    const { metadata } = await api().createRequest()
    const ref = { name: metadata.name }
    const merge = (spec: object) =>
      api().admin.patch<Loose>(maintenanceRequests, ref, { type: 'merge', body: { spec } }, { fieldManager: 'e2e' })
    expect((await merge({ priority: 1000 })).spec?.['priority']).toBe(1000)
    expect((await merge({ want: 'Return' })).spec?.['want']).toBe('Return')
    expect(await refusal(merge({ want: 'Out' }))).toContain('spec.want: Invalid value')
    expect(await refusal(merge({ want: 'Out' }))).toContain('can only change from Out to Return')
  })

  test.for([
    ['nodeName', 'node-8'],
    ['nodeUID', 'another'],
    ['source', { key: 'somebody else' }],
    ['reason', 'another'],
    ['work', 'Host'],
    ['service', { drain: false }],
  ] as const)('cannot change its %s', async ([field, value]) => {
    const message = await refusal(changed({}, { [field]: value }))
    expect(message).toMatch(new RegExp(`spec\\.${field}: Invalid value: .*cannot be changed; make a new object`))
  })

  test.for([
    ['requestedBy', {}, 'jdoe-at-example'],
    ['windows', {}, []],
    ['windows', { windows: [] }, null],
    ['bypassWindow', {}, ''],
    ['bypassWindow', { bypassWindow: '' }, null],
    ['drain', {}, {}],
    ['deadlines', {}, { maxReboots: 2 }],
  ] as const)('cannot add, change or remove its %s: %j to %j', async ([field, before, after]) => {
    const message = await refusal(changed(before, { [field]: after }))
    expect(message).toMatch(new RegExp(`spec\\.${field}: Invalid value: .*cannot be added, changed or removed`))
  })

  test('is found by a field selector on its node', async () => {
    const nodeName = uniqueName()
    const { metadata } = await api().createRequest({ nodeName })
    await api().createRequest()
    const found: (string | undefined)[] = []
    for await (const page of api().admin.list(maintenanceRequests, { fieldSelector: `spec.nodeName=${nodeName}` }))
      found.push(...page.items.map((item) => item.metadata.name))
    expect(found).toEqual([metadata.name])
  })

  test('shows its columns', async () => {
    const { metadata } = await api().createRequest({ nodeName: 'node-7' })
    const now = new Date().toISOString()
    await api().writeStatus(maintenanceRequests, metadata.name, {
      phase: 'Queued',
      waiting: { position: 3, for: 'Budget', message: 'zone a is full', since: now },
      drain: { startedAt: now, total: 12, left: 2, blockedBy: [] },
    })
    const [head, row] = (await api().kubectl('get', 'mreq', metadata.name)).trim().split('\n')
    expect(head?.split(/ {2,}/)).toEqual(['NAME', 'NODE', 'PHASE', 'WAITING', 'PODS LEFT', 'OUTCOME', 'AGE'])
    expect(row?.split(/ {2,}/).slice(0, 5)).toEqual([metadata.name, 'node-7', 'Queued', 'zone a is full', '2'])
    expect(await api().kubectl('get', 'fettle', '-o', 'wide')).toContain('replace the fan')
  })
})

describe('the status of a MaintenanceRequest', () => {
  test('is written through its subresource only', async () => {
    const created = await api().createRequest()
    const ref = { name: created.metadata.name }
    const body = { status: { phase: 'Done' }, spec: { priority: 7 } }
    const viaObject = await api().admin.patch<Loose>(maintenanceRequests, ref, { type: 'merge', body })
    expect(viaObject).toMatchObject({ spec: { priority: 7 } })
    expect(viaObject.status).toBeUndefined()
    const patch = { type: 'merge', body: { ...body, spec: { priority: 8 } } } as const
    const viaStatus = await api().admin.patch<Loose>(maintenanceRequests, ref, patch, { subresource: 'status' })
    expect(viaStatus).toMatchObject({ spec: { priority: 7 }, status: { phase: 'Done' } })
  })

  test('is shared by controller and agent without a conflict, whoever comes first', async () => {
    const { metadata } = await api().createRequest()
    const name = metadata.name
    const report = (host: MaintenanceRequestStatus['host']) =>
      api().admin.apply<Loose>(maintenanceRequests, { metadata: { name }, status: { host } } as Loose, {
        fieldManager: 'fettle-agent',
        subresource: 'status',
      })
    expect((await report({ request: 'Present', bootID: 'one' })).status).toMatchObject({ phase: 'Queued' })
    await api().writeStatus(maintenanceRequests, name, {
      phase: 'Claimed',
      slot: { token: 42, ledgerUID: 'l', takenAt: '2026-01-01T00:00:00Z' },
    })
    await report({ request: 'Present', bootID: 'two', rebootIntent: { token: 42, fromBootID: 'one' } })
    await api().writeStatus(maintenanceRequests, name, { phase: 'Rebooting' })
    await report({ request: 'Absent', bootID: 'two' })
    expect((await api().admin.get<Loose>(maintenanceRequests, { name })).status).toEqual({
      phase: 'Rebooting',
      slot: { token: 42, ledgerUID: 'l', takenAt: '2026-01-01T00:00:00Z' },
      host: { request: 'Absent', bootID: 'two' },
    })
  })

  test('reads null as absent', async () => {
    const { metadata } = await api().createRequest()
    const waiting = { for: 'Order', message: 'm', since: '2026-01-01T00:00:00Z', notBefore: null }
    const written = await api().writeStatus(maintenanceRequests, metadata.name, {
      phase: 'Queued',
      waiting,
      host: { rebootIntent: null },
    })
    expect(written.status?.['waiting']).not.toHaveProperty('notBefore')
    expect(written.status?.['host']).toEqual({})
  })
})

async function changed(before: object, after: object): Promise<unknown> {
  const { metadata } = await api().createRequest(before)
  const patch = { type: 'merge', body: { spec: after } } as const
  return api().admin.patch(maintenanceRequests, { name: metadata.name }, patch, { dryRun: true })
}
