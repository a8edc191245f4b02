import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parse } from 'yaml'
import { maintenanceBudget, maintenanceBudgets } from '../../src/api/index.ts'
import { isNotFound } from '../../src/kube/index.ts'
import { type Loose, refusal, useApiObjects } from '../support/api-objects.ts'
import { repository } from '../support/fettle-process.ts'

const api = useApiObjects()

describe('a MaintenanceBudget', () => {
  test('is accepted and gets its defaults', async () => {
    expect((await api().tryBudget({})).spec).toEqual({
      max: 1,
      controlPlaneMax: 1,
      countUnavailable: ['NotReady', 'Cordoned'],
      profiles: 'Off',
      onNodeLost: 'Hold',
    })
    expect((await api().tryBudget(maintenanceBudget.example.spec)).spec).toMatchObject(maintenanceBudget.example.spec)
    expect((await api().tryBudget({ countUnavailable: [] })).spec?.['countUnavailable']).toEqual([])
  })

  test('has one name', async () => {
    expect(await refusal(api().tryBudget({}, 'second'))).toContain(
      'there is one MaintenanceBudget, and its name is cluster',
    )
  })

  test.for([0, 3, '1%', '25%', '100%'])('takes %j as a number of nodes', async (max) => {
    expect((await api().tryBudget({ max })).spec?.['max']).toBe(max)
  })

  test.for([-1, 100_001, '0%', '120%', '25', 'half', 1.5, true])('refuses %j as a number of nodes', async (max) => {
    expect(await refusal(api().tryBudget({ max }))).toContain('spec.max')
  })

  test.for([
    ['limits', [{ name: 'zones', groupBy: 'topology.kubernetes.io/zone', max: 1 }]],
    ['ignoreNodes', { matchLabels: { parked: 'true' } }],
    ['timing', { soak: '1m', lead: '10m', heartbeatTimeout: '60s', minReadySeconds: 30 }],
    ['defaults', { windows: ['night'], drain: { deadline: '10m' }, deadlines: { work: '1h' } }],
    ['onNodeLost', 'Continue'],
  ] as const)('keeps %s as it was written', async ([field, value]) => {
    expect((await api().tryBudget({ [field]: value })).spec?.[field]).toEqual(value)
  })

  test.for(['how-many-nodes-at-once', 'take-a-node-out'])('is accepted as guide %s writes it', async (name) => {
    const guide = readFileSync(join(repository, `docs/guides/${name}.md`), 'utf8')
    const [, text = ''] = /^```yaml\n(.*?)^```$/ms.exec(guide) ?? []
    const { spec } = parse(text) as { readonly spec: object }
    expect((await api().tryBudget(spec)).spec).toMatchObject(spec)
  })

  test.for([
    [{ marks: { labelsWhileOut: { 'not a label': 'x' } } }, 'labelsWhileOut: Invalid value: these are not labels'],
    [{ marks: { labelsAfter: { state: 'not a value' } } }, 'labelsAfter: Invalid value: these are not labels'],
    [{ marks: { taintWhileQueued: 'no/such/key' } }, 'this is not a key that a taint can have'],
    [
      { notify: [{ name: 'two', mail: mail(), webhook: { url: 'http://x' } }] },
      'exactly one of slack, mail and webhook',
    ],
    [{ notify: [{ name: 'none', webhook: {} }] }, 'either url or urlSecretKey'],
    [{ notify: [{ name: 'open', mail: { ...mail(), security: 'None', passwordSecretKey: 'p' } }] }, 'a password needs'],
  ] as const)('refuses %j', async ([spec, why]) => {
    expect(await refusal(api().tryBudget(spec))).toContain(why)
  })

  test.for([
    // Also what is left of labels that stand outside matchLabels.
    [{ ignoreNodes: {} }, 'ignoreNodes needs a label in matchLabels or matchExpressions'],
    [{ ignoreNodes: { matchLabels: {}, matchExpressions: [] } }, 'ignoreNodes needs a label'],
    [{ ignoreNodes: { matchExpressions: [{ key: 'x', operator: 'NotIn' }] } }, 'In and NotIn need values'],
    [{ limits: [gpuLimit({ operator: 'In' })] }, 'In and NotIn need values'],
    [{ limits: [gpuLimit({ operator: 'NotIn', values: [] })] }, 'In and NotIn need values'],
    [{ limits: [gpuLimit({ operator: 'Exists', values: ['a'] })] }, 'Exists and DoesNotExist have none'],
  ] as const)('refuses %j, which matches every node or none', async ([spec, why]) => {
    expect(await refusal(api().tryBudget(spec))).toContain(why)
  })

  test('takes expressions that are whole, for nodes that never count and for those of a limit', async () => {
    const ignoreNodes = { matchExpressions: [{ key: 'parked', operator: 'Exists' }] }
    const spec = { ignoreNodes, limits: [gpuLimit({ operator: 'In', values: ['gpu', 'tpu'] })] }
    expect((await api().tryBudget(spec)).spec).toMatchObject(spec)
  })

  test('that was stored with an empty ignoreNodes before that was refused keeps its ledger all the same', async () => {
    const name = await realBudget()
    const kubectl = (...args: string[]) => api().kubectl(...args)
    const crd = 'maintenancebudgets.fettle.dev'
    const rules =
      '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/ignoreNodes/x-kubernetes-validations'
    const empty = JSON.stringify({ spec: { ignoreNodes: {} } })
    const write = () => kubectl('patch', 'mbudget', name, '--type=merge', `--patch=${empty}`)
    onTestFinished(async () => {
      await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=e2e', '-f', 'crds/')
    })
    await kubectl('patch', 'crd', crd, '--type=json', `--patch=${JSON.stringify([{ op: 'remove', path: rules }])}`)
    await vi.waitFor(write, { timeout: 30_000, interval: 200 })
    await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=e2e', '-f', 'crds/')
    const another = { ignoreNodes: { matchLabels: {} } }
    await vi.waitFor(async () => expect(await refusal(api().tryBudget(another))).toContain('needs a label'), {
      timeout: 30_000,
      interval: 200,
    })
    const written = await api().writeStatus(maintenanceBudgets, name, { nextToken: 7, slots: [] })
    expect(written).toMatchObject({ spec: { ignoreNodes: {} }, status: { nextToken: 7 } })
  })

  test('takes marks, notifications and shared locks as they are written', async () => {
    const spec = {
      marks: {
        taintWhileQueued: 'example.com/soon',
        labelsWhileOut: { 'example.com/state': 'out' },
        annotationsOf: ['Kured'],
      },
      notify: [
        { name: 'chat', on: ['Held'], slack: { urlSecretKey: 'slack' }, messages: { Held: '{{ .Node }} needs you' } },
      ],
      foreignLocks: [{ program: 'Kured', hold: true, takeOver: true }],
    }
    expect((await api().tryBudget(spec)).spec).toMatchObject(spec)
  })

  test('says whether profiles need a slot, and knows no third way', async () => {
    expect((await api().tryBudget({ profiles: 'Count' })).spec).toMatchObject({ profiles: 'Count' })
    expect(await refusal(api().tryBudget({ profiles: 'Sometimes' }))).toContain('spec.profiles: Unsupported value')
  })

  test('shows how many nodes may be out, and how many are', async () => {
    const name = await realBudget()
    const withoutSlot = ['node-9 NotReady']
    await api().writeStatus(maintenanceBudgets, name, {
      nextToken: 1,
      slots: [],
      limits: [
        { name: 'zones', max: 1, out: 0, withoutSlot: [] },
        { name: 'cluster', max: 4, out: 1, withoutSlot },
      ],
    })
    const [head, row] = (await api().kubectl('get', 'mbudget')).trim().split('\n')
    expect(head?.split(/ +/)).toEqual(['NAME', 'MAX', 'OUT', 'AGE'])
    expect(row?.split(/ +/).slice(0, 3)).toEqual(['cluster', '10%', '1'])
  })

  test('has at most one slot per node', async () => {
    const name = await realBudget()
    const slot = { node: 'node-1', nodeUID: 'one', token: 1, takenAt: '2026-01-01T00:00:00Z', requests: [] }
    const twice = api().writeStatus(maintenanceBudgets, name, { nextToken: 3, slots: [slot, { ...slot, token: 2 }] })
    expect(await refusal(twice)).toContain('status.slots[1]: Duplicate value: {"nodeUID":"one"}')
  })
})

function gpuLimit(expression: object) {
  return { name: 'gpu', nodeSelector: { matchExpressions: [{ key: 'pool', ...expression }] }, max: 1 }
}

function mail() {
  return { host: 'mail.example', from: 'fettle@example.com', to: ['ops@example.com'] }
}

/** There is one per cluster: whatever a test of another file left goes first, and this one goes with its test. */
async function realBudget(): Promise<string> {
  const { name, spec } = maintenanceBudget.example
  const { admin } = api()
  const remove = async () => {
    const body = { metadata: { finalizers: null } }
    await admin.patch(maintenanceBudgets, { name }, { type: 'merge', body })
    await admin.delete(maintenanceBudgets, { name }, { uid: 'any' })
  }
  await remove().catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
  const budget: Loose = { metadata: { name }, spec: { ...spec } }
  await admin.create(maintenanceBudgets, budget)
  onTestFinished(remove)
  return name
}
