import { expect, test } from 'vitest'
import { keyText } from '../key.ts'
import { allowedDeletions, allowedWrites } from './allowed.ts'
import { agoText, declare, key, live, member, nowMs, stranger, type WorldParts, world } from './fixture-plan.ts'
import { planSync } from './plan-sync.ts'
import type { Plan, Step } from './steps.ts'

/** `delete ConfigMap shop/a`; of those that rest, the rule or what they wait for too. */
function short(step: Step): string {
  const rule = step.do === 'keep' ? ` ${step.rule}` : step.do === 'wait' ? ` ${step.waitsFor}` : ''
  return `${step.do} ${keyText(step.key)}${rule}`
}

const steps = (plan: Plan) => plan.steps.map(short)
const owner = { apiVersion: 'v1', kind: 'Boss', name: 'b', uid: 'boss' }
const changed = () => ({ is: 'changed' as const, fields: ['data.a'] })
const drifted = () => ({ is: 'drifted' as const, fields: ['data.a'], by: 'kubectl-edit' })
const noWidgets = [{ group: 'example.com', why: 'the server does not answer' }]
const reference = { bodyHash: '', setHash: '', valueHash: '', existsOnly: [] }

const note = (name: string, value: string) => ({ annotations: { [name]: value } })
const onlyNew = declare('ConfigMap/a', note('fettle.dev/apply', 'ifNotPresent'))

test.for<[string, WorldParts, string[]]>([
  ['what is not there is created', { declared: [declare('ConfigMap/a')] }, ['create ConfigMap shop/a']],
  [
    'a member that is gone is created again',
    { declared: [declare('ConfigMap/a')], members: [member('ConfigMap/a')] },
    ['create ConfigMap shop/a'],
  ],
  [
    'of an unknown kind nobody knows whether it exists',
    { declared: [declare('Widget/a')], unknown: noWidgets },
    ['conflict Widget.example.com shop/a'],
  ],
  [
    'outside of the namespaces nothing may be declared',
    { declared: [declare('ConfigMap/other/a')] },
    ['conflict ConfigMap other/a'],
  ],
  [
    'nor of the whole cluster',
    { declared: [declare('ClusterRole/a')] },
    ['conflict ClusterRole.rbac.authorization.k8s.io a'],
  ],
  [
    'unless its kind and name are allowed',
    {
      declared: [declare('ClusterRole/shop-a')],
      policy: { clusterKinds: [{ kind: 'ClusterRole', group: 'rbac.authorization.k8s.io', names: 'shop-*' }] },
    },
    ['create ClusterRole.rbac.authorization.k8s.io shop-a'],
  ],
  [
    'what equals git is left alone',
    { declared: [declare('ConfigMap/a')], objects: [live('ConfigMap/a')], members: [member('ConfigMap/a')] },
    [],
  ],
  [
    'what git changed is updated',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a')],
      members: [member('ConfigMap/a')],
      compare: changed,
    },
    ['update ConfigMap shop/a'],
  ],
  [
    'what somebody changed is updated',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a')],
      members: [member('ConfigMap/a')],
      compare: drifted,
    },
    ['update ConfigMap shop/a'],
  ],
  [
    'a member whose last answer was lost is written again',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a')],
      members: [{ key: key('ConfigMap/a'), apiVersion: 'v1' }],
    },
    ['update ConfigMap shop/a'],
  ],
  [
    'our label is put back',
    {
      declared: [declare('ConfigMap/a')],
      objects: [stranger('ConfigMap/a')],
      members: [member('ConfigMap/a', { reference })],
    },
    ['update ConfigMap shop/a'],
  ],
  [
    'a member that is being deleted is waited for',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a', { metadata: { deletionTimestamp: agoText(1_000) } })],
      members: [member('ConfigMap/a')],
    },
    ['wait ConfigMap shop/a removal'],
  ],
  [
    'a member that somebody else owns is not written',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a', { metadata: { ownerReferences: [owner] } })],
      members: [member('ConfigMap/a')],
    },
    ['conflict ConfigMap shop/a'],
  ],
  [
    'what is there is adopted',
    { declared: [declare('ConfigMap/a')], objects: [stranger('ConfigMap/a')] },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'an announced adoption is made',
    { declared: [declare('ConfigMap/a')], objects: [stranger('ConfigMap/a')], members: [member('ConfigMap/a')] },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'but not if adoption is never',
    { declared: [declare('ConfigMap/a')], objects: [stranger('ConfigMap/a')], policy: { adoption: 'never' } },
    ['conflict ConfigMap shop/a'],
  ],
  [
    'unless it carries our label already',
    { declared: [declare('ConfigMap/a')], objects: [live('ConfigMap/a')], policy: { adoption: 'never' } },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'what another program manages is a conflict',
    {
      declared: [declare('ConfigMap/a')],
      objects: [stranger('ConfigMap/a', { metadata: { annotations: { 'meta.helm.sh/release-name': 'r' } } })],
      policy: { adoption: 'always' },
    },
    ['conflict ConfigMap shop/a'],
  ],
  [
    'unless it is named',
    {
      declared: [declare('ConfigMap/a')],
      objects: [stranger('ConfigMap/a', { metadata: { annotations: { 'meta.helm.sh/release-name': 'r' } } })],
      policy: { adoptFrom: ['helm'] },
    },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'or what it applies with is',
    {
      declared: [declare('ConfigMap/a')],
      objects: [
        live('ConfigMap/a', { label: 'theirs', metadata: { managedFields: [{ manager: 'm', operation: 'Apply' }] } }),
      ],
      policy: { adoptFrom: ['m'] },
    },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'a member that another set took is a conflict while both declare it',
    {
      declared: [declare('ConfigMap/a')],
      objects: [live('ConfigMap/a', { label: 'theirs' })],
      members: [member('ConfigMap/a')],
    },
    ['conflict ConfigMap shop/a'],
  ],
  [
    'a controlled object is nobody else’s, whatever adoption says',
    {
      declared: [declare('ConfigMap/a')],
      objects: [stranger('ConfigMap/a', { metadata: { ownerReferences: [{ ...owner, controller: true }] } })],
      policy: { adoption: 'always' },
    },
    ['conflict ConfigMap shop/a'],
  ],
  ...[[], [live('ConfigMap/a')], [stranger('ConfigMap/a')], [live('ConfigMap/a', { label: 'theirs' })]].flatMap(
    (objects): [string, WorldParts, string[]][] => {
      const parts = {
        objects,
        declared: [declare('ConfigMap/a', note('fettle.dev/apply', 'ignore'))],
        compare: changed,
      }
      const { labels } = objects[0]?.metadata ?? {}
      const what = `what is left to others is as declared, ${labels ? `there with labels ${JSON.stringify(labels)}` : 'or not there'}`
      return [
        [what, parts, []],
        [`${what}, also of a member`, { ...parts, members: [member('ConfigMap/a', { reference })] }, []],
      ]
    },
  ),
  [
    'but not outside of the namespaces',
    { declared: [declare('ConfigMap/other/a', note('fettle.dev/apply', 'ignore'))] },
    ['conflict ConfigMap other/a'],
  ],
  ['what is only made if it is missing is made', { declared: [onlyNew] }, ['create ConfigMap shop/a']],
  ['it stays as it is if somebody else made it', { declared: [onlyNew], objects: [stranger('ConfigMap/a')] }, []],
  [
    'also if our last run saw that',
    { declared: [onlyNew], objects: [stranger('ConfigMap/a')], members: [member('ConfigMap/a')] },
    [],
  ],
  [
    'or if another set has it',
    { declared: [onlyNew], objects: [live('ConfigMap/a', { label: 'theirs' })], members: [member('ConfigMap/a')] },
    [],
  ],
  [
    'or if somebody took our label off it',
    { declared: [onlyNew], objects: [stranger('ConfigMap/a')], members: [member('ConfigMap/a', { reference })] },
    [],
  ],
  [
    'with our label it is recorded once',
    { declared: [onlyNew], objects: [live('ConfigMap/a')] },
    ['adopt ConfigMap shop/a'],
  ],
  [
    'and then it is as declared',
    { declared: [onlyNew], objects: [live('ConfigMap/a')], members: [member('ConfigMap/a')] },
    [],
  ],
  [
    'and made again when it is gone',
    {
      declared: [onlyNew],
      objects: [stranger('ConfigMap/a', { metadata: { deletionTimestamp: agoText(1_000) } })],
    },
    ['wait ConfigMap shop/a removal'],
  ],
  [
    'an order that cannot be followed is a conflict',
    { declared: [declare('ConfigMap/a', { annotations: { 'fettle.dev/wave': 'soon' } }), declare('ConfigMap/b')] },
    ['create ConfigMap shop/b', 'conflict ConfigMap shop/a'],
  ],
  [
    'a ring that the repository asks for is a conflict of all in it',
    {
      declared: [
        declare('ConfigMap/a', { annotations: { 'config.kubernetes.io/depends-on': '/namespaces/shop/ConfigMap/b' } }),
        declare('ConfigMap/b', { annotations: { 'config.kubernetes.io/depends-on': '/namespaces/shop/ConfigMap/a' } }),
      ],
    },
    ['conflict ConfigMap shop/a', 'conflict ConfigMap shop/b'],
  ],
])('declared: %s', ([, parts, expected]) => {
  expect(steps(planSync(world(parts)))).toEqual(expected)
})

const pod = (name: string, volumes: object[], metadata = {}) =>
  stranger(`Pod/${name}`, { metadata, body: { spec: { volumes: volumes as never[] } } })
const mounts = [{ configMap: { name: 'a' } }]
const gone = { objects: [live('ConfigMap/a')], members: [member('ConfigMap/a')] }
const withMeta = (metadata: object) => ({
  objects: [live('ConfigMap/a', { metadata })],
  members: [member('ConfigMap/a')],
})

test.for<[string, WorldParts, string[]]>([
  ['a member is deleted at once', gone, ['delete ConfigMap shop/a']],
  ['or after its grace', { ...gone, deletion: { memberGraceMs: 60_000 } }, ['wait ConfigMap shop/a grace']],
  [
    'which began when it was seen first',
    {
      objects: [live('ConfigMap/a')],
      members: [member('ConfigMap/a', { orphanedAt: agoText(60_000) })],
      deletion: { memberGraceMs: 60_000 },
    },
    ['delete ConfigMap shop/a'],
  ],
  [
    'and begins anew when that time cannot be read',
    {
      objects: [live('ConfigMap/a')],
      members: [member('ConfigMap/a', { orphanedAt: 'yesterday' })],
      deletion: { memberGraceMs: 60_000 },
    },
    ['wait ConfigMap shop/a grace'],
  ],
  ['what is gone is forgotten', { members: [member('ConfigMap/a')] }, ['forget ConfigMap shop/a']],
  [
    'but not what nobody can see',
    { members: [member('Widget/a')], unknown: noWidgets },
    ['keep Widget.example.com shop/a unknown'],
  ],
  [
    'nor is deleted what is only partly seen',
    {
      objects: [live('Widget/a')],
      members: [member('Widget/a')],
      unknown: [{ group: 'example.com', kind: 'Widget', why: '' }],
    },
    ['keep Widget.example.com shop/a unknown'],
  ],
  [
    'another kind of the same group is not in doubt',
    {
      objects: [live('Widget/a')],
      members: [member('Widget/a')],
      unknown: [{ group: 'example.com', kind: 'Gadget', why: '' }],
    },
    ['delete Widget.example.com shop/a'],
  ],
  [
    'in a namespace that is not ours any more nothing is deleted or forgotten',
    {
      objects: [live('ConfigMap/other/a')],
      members: [member('ConfigMap/other/a'), member('ConfigMap/other/b')],
    },
    ['keep ConfigMap other/a out-of-scope', 'keep ConfigMap other/b out-of-scope'],
  ],
  [
    'what another set took is forgotten',
    { objects: [live('ConfigMap/a', { label: 'theirs' })], members: [member('ConfigMap/a')] },
    ['forget ConfigMap shop/a'],
  ],
  [
    'what somebody else made under the name of a member is not ours',
    { objects: [stranger('ConfigMap/a', { uid: 'other' })], members: [member('ConfigMap/a')] },
    ['forget ConfigMap shop/a'],
  ],
  [
    'not even if it has our label, when it has an owner: labels are copied',
    {
      objects: [live('ConfigMap/a', { uid: 'other', metadata: { ownerReferences: [owner] } })],
      members: [member('ConfigMap/a')],
    },
    ['forget ConfigMap shop/a'],
  ],
  [
    'what we made anew and could not record is ours',
    { objects: [live('ConfigMap/a', { uid: 'other' })], members: [member('ConfigMap/a')] },
    ['delete ConfigMap shop/a'],
  ],
  [
    'what was announced and made is ours',
    { objects: [live('ConfigMap/a')], members: [{ key: key('ConfigMap/a'), apiVersion: 'v1' }] },
    ['delete ConfigMap shop/a'],
  ],
  [
    'what was announced and never made ours is not',
    { objects: [stranger('ConfigMap/a')], members: [{ key: key('ConfigMap/a'), apiVersion: 'v1' }] },
    ['forget ConfigMap shop/a'],
  ],
  [
    'without our label a recorded one stays',
    { objects: [stranger('ConfigMap/a')], members: [member('ConfigMap/a')] },
    ['keep ConfigMap shop/a unlabelled'],
  ],
  ['with our label an unrecorded one stays', { objects: [live('ConfigMap/a')] }, ['keep ConfigMap shop/a stranger']],
  [
    'what git said stays when it declared it last stays',
    { objects: [live('ConfigMap/a')], members: [member('ConfigMap/a', { isKept: true })] },
    ['keep ConfigMap shop/a kept'],
  ],
  [
    'what is marked stays',
    withMeta({ annotations: { 'fettle.dev/keep': 'an audit' } }),
    ['keep ConfigMap shop/a keep'],
  ],
  ['a mark may be taken back', withMeta({ annotations: { 'fettle.dev/keep': 'false' } }), ['delete ConfigMap shop/a']],
  ['what has an owner stays', withMeta({ ownerReferences: [owner] }), ['keep ConfigMap shop/a owned']],
  [
    'what is being deleted is waited for',
    withMeta({ deletionTimestamp: agoText(1_000) }),
    ['wait ConfigMap shop/a removal'],
  ],
  [
    'what needs a confirmation waits',
    withMeta({ annotations: { 'fettle.dev/confirm-deletion': 'true' } }),
    ['wait ConfigMap shop/a confirmation'],
  ],
  [
    'also in the words of Argo CD',
    withMeta({ annotations: { 'argocd.argoproj.io/sync-options': 'Validate=false, Prune=confirm' } }),
    ['wait ConfigMap shop/a confirmation'],
  ],
  [
    'a confirmation is for one object, not for a name',
    { ...withMeta({ annotations: { 'fettle.dev/confirm-deletion': 'true' } }), permits: { confirmed: ['another'] } },
    ['wait ConfigMap shop/a confirmation'],
  ],
  [
    'then it goes',
    {
      ...withMeta({ annotations: { 'fettle.dev/confirm-deletion': 'true' } }),
      permits: { confirmed: ['uid of ConfigMap/a'] },
    },
    ['delete ConfigMap shop/a'],
  ],
  [
    'a namespace is always confirmed',
    { objects: [live('Namespace/shop')], members: [member('Namespace/shop')] },
    ['wait Namespace shop confirmation'],
  ],
  [
    'data stays',
    { objects: [live('PersistentVolumeClaim/a')], members: [member('PersistentVolumeClaim/a')] },
    ['keep PersistentVolumeClaim shop/a pvc-default'],
  ],
  [
    'unless the policy allows its deletion',
    {
      objects: [live('PersistentVolumeClaim/a')],
      members: [member('PersistentVolumeClaim/a')],
      deletion: { allowDataDeletion: true },
    },
    ['delete PersistentVolumeClaim shop/a'],
  ],
  [
    'volumes too',
    {
      objects: [live('PersistentVolume/a')],
      members: [member('PersistentVolume/a')],
      policy: { clusterKinds: [{ group: '', kind: 'PersistentVolume', names: '*' }] },
    },
    ['keep PersistentVolume a pv-default'],
  ],
  [
    'config that a pod mounts waits',
    { objects: [live('ConfigMap/a'), pod('p', mounts)], members: [member('ConfigMap/a')] },
    ['wait ConfigMap shop/a references', 'keep Pod shop/p stranger'],
  ],
  [
    'a pod that is over holds nothing',
    {
      objects: [
        live('ConfigMap/a'),
        stranger('Pod/p', { body: { spec: { volumes: mounts }, status: { phase: 'Succeeded' } } }),
      ],
      members: [member('ConfigMap/a')],
    },
    ['delete ConfigMap shop/a', 'keep Pod shop/p stranger'],
  ],
  [
    'a pod of another namespace holds nothing',
    {
      objects: [live('ConfigMap/a'), stranger('Pod/other/p', { body: { spec: { volumes: mounts } } })],
      members: [member('ConfigMap/a')],
    },
    ['delete ConfigMap shop/a', 'keep Pod other/p out-of-scope'],
  ],
  [
    'pods that could not be read hold everything',
    { ...gone, unknown: [{ group: '', kind: 'Pod', why: 'forbidden' }] },
    ['wait ConfigMap shop/a references'],
  ],
  [
    'so does a pod whose spec is not known',
    { objects: [live('ConfigMap/a'), stranger('Pod/p')], members: [member('ConfigMap/a')] },
    ['wait ConfigMap shop/a references', 'keep Pod shop/p stranger'],
  ],
  [
    'a ReplicaSet that may start pods holds its config',
    {
      objects: [
        live('ConfigMap/a'),
        stranger('ReplicaSet/r', { body: { spec: { replicas: 1, template: { spec: { volumes: mounts } } } } }),
      ],
      members: [member('ConfigMap/a')],
    },
    ['wait ConfigMap shop/a references', 'keep ReplicaSet.apps shop/r stranger'],
  ],
  [
    'one that is scaled down does not',
    {
      objects: [
        live('ConfigMap/a'),
        stranger('ReplicaSet/r', { body: { spec: { replicas: 0, template: { spec: { volumes: mounts } } } } }),
      ],
      members: [member('ConfigMap/a')],
    },
    ['delete ConfigMap shop/a', 'keep ReplicaSet.apps shop/r stranger'],
  ],
  [
    'pods of a workload that goes in the same plan hold nothing',
    {
      objects: [
        live('ConfigMap/a'),
        live('Deployment/d'),
        stranger('ReplicaSet/r', {
          metadata: { ownerReferences: [{ ...owner, uid: 'uid of Deployment/d' }] },
          body: { spec: { replicas: 1, template: { spec: { volumes: mounts } } } },
        }),
        pod('p', mounts, { ownerReferences: [{ ...owner, uid: 'uid of ReplicaSet/r' }] }),
      ],
      members: [member('ConfigMap/a'), member('Deployment/d')],
    },
    [
      'delete ConfigMap shop/a',
      'delete Deployment.apps shop/d',
      'keep Pod shop/p owned',
      'keep ReplicaSet.apps shop/r owned',
    ],
  ],
])('removed: %s', ([, parts, expected]) => {
  const { declared = [declare('Service/here')], objects = [], members = [], ...rest } = parts
  const here = { objects: [...objects, live('Service/here')], members: [...members, member('Service/here')] }
  expect(steps(planSync(world({ declared, ...here, ...rest })))).toEqual(expected)
})

const total: WorldParts = { policy: { mode: 'total' }, deletion: { strangerGraceMs: 600_000 } }
const opened = (parts: WorldParts): WorldParts => {
  const { opening } = planSync(world({ ...total, ...parts }))
  return { ...total, ...parts, inventory: { ...parts.inventory, ...(opening ? { openingHash: opening.hash } : {}) } }
}

test.for<[string, WorldParts, string[]]>([
  ['are left alone in mode adopt', { objects: [stranger('ConfigMap/a')] }, ['keep ConfigMap shop/a stranger']],
  [
    'wait for the approval of the opening list',
    {
      ...total,
      objects: [stranger('ConfigMap/a')],
      inventory: { strangers: { 'uid of ConfigMap/a': agoText(700_000) } },
    },
    ['wait ConfigMap shop/a approval'],
  ],
  ['then for their grace', opened({ objects: [stranger('ConfigMap/a')] }), ['wait ConfigMap shop/a grace']],
  [
    'which is counted from when they were seen first',
    opened({
      objects: [stranger('ConfigMap/a')],
      inventory: { strangers: { 'uid of ConfigMap/a': agoText(599_999) } },
    }),
    ['wait ConfigMap shop/a grace'],
  ],
  [
    'and go',
    opened({
      objects: [stranger('ConfigMap/a')],
      inventory: { strangers: { 'uid of ConfigMap/a': agoText(600_000) } },
    }),
    ['delete ConfigMap shop/a'],
  ],
  [
    'a time of another object does not count',
    opened({ objects: [stranger('ConfigMap/a')], inventory: { strangers: { other: agoText(600_000) } } }),
    ['wait ConfigMap shop/a grace'],
  ],
  [
    'are protected by the rules',
    opened({ objects: [stranger('ConfigMap/kube-root-ca.crt'), stranger('ServiceAccount/default')] }),
    ['keep ConfigMap shop/kube-root-ca.crt root-ca', 'keep ServiceAccount shop/default sa-default'],
  ],
  [
    'of another program stay',
    opened({ objects: [live('ConfigMap/a', { label: 'theirs' })] }),
    ['keep ConfigMap shop/a foreign'],
  ],
  [
    'of the whole cluster stay',
    opened({ objects: [stranger('Namespace/shop')] }),
    ['keep Namespace shop cluster-scoped'],
  ],
  [
    'under the name of a member count as strangers',
    opened({ objects: [stranger('ConfigMap/a', { uid: 'other' })], members: [member('ConfigMap/a')] }),
    ['forget ConfigMap shop/a', 'wait ConfigMap shop/a grace'],
  ],
])('strangers: %s', ([, parts, expected]) => {
  expect(steps(planSync(world(parts)))).toEqual(expected)
})

test('an opening list is approved by its own hash, and not by that of another list', () => {
  const first = planSync(world({ ...total, objects: [stranger('ConfigMap/a')] }))
  expect(first.halts.map(({ reason }) => reason)).toEqual(['OpeningListNotApproved'])
  const approve = first.opening?.hash ?? ''
  const permits = { approve, confirmed: [] }
  const same = planSync(world({ ...total, objects: [stranger('ConfigMap/a')], permits }))
  expect(same).toMatchObject({ halts: [], opening: { hash: approve, keys: [] } })
  const more = planSync(world({ ...total, objects: [stranger('ConfigMap/a'), stranger('ConfigMap/b')], permits }))
  expect(steps(more)).toEqual(['wait ConfigMap shop/a approval', 'wait ConfigMap shop/b approval'])
  const reborn = planSync(world({ ...total, objects: [stranger('ConfigMap/a', { uid: 'new' })], permits }))
  expect(steps(reborn)).toEqual(['wait ConfigMap shop/a approval'])
})

test('strangers that come later need no new approval; a wider reach does', () => {
  const { opening } = planSync(world({ ...total, objects: [stranger('ConfigMap/a')] }))
  const parts = { ...total, objects: [stranger('ConfigMap/b')], inventory: { openingHash: opening?.hash ?? '' } }
  expect(planSync(world(parts)).opening).toBeUndefined()
  const wider = world({ ...parts, policy: { mode: 'total', namespaces: ['shop', 'more'] } })
  expect(planSync(wider).opening?.keys).toEqual([key('ConfigMap/b')])
})

test.for<[string, WorldParts['policy'], WorldParts['deletion']]>([
  ['programs to adopt from', { adoptFrom: ['flux'] }, {}],
  ['groups of other API servers', {}, { allowAggregated: ['metrics.example.com'] }],
  ['data', {}, { allowDataDeletion: true }],
  ['fewer rules to ignore', { ignore: [] }, {}],
])('an approval does not reach further than it was given for: %s', ([, policy, deletion]) => {
  const ignore = [{ kind: 'Widget' }]
  const parts = { ...total, objects: [stranger('ConfigMap/a')], policy: { mode: 'total' as const, ignore } }
  const inventory = { openingHash: planSync(world(parts)).opening?.hash ?? '' }
  expect(planSync(world({ ...parts, inventory })).opening).toBeUndefined()
  const wider = world({ ...parts, inventory, policy: { ...parts.policy, ...policy }, deletion: deletion ?? {} })
  expect(planSync(wider).halts).toMatchObject([{ reason: 'OpeningListNotApproved' }])
})

const newborn = (text: string) => stranger(text, { metadata: { creationTimestamp: agoText(1_000) } })

test('a stranger that only its youth protects is on the opening list, and nothing is settled while there is one', () => {
  const young = planSync(world({ ...total, objects: [newborn('Secret/a')] }))
  expect(steps(young)).toEqual(['keep Secret shop/a young'])
  expect(young.opening).toMatchObject({ keys: [key('Secret/a')], isAgreed: false, isWhole: false })
  expect(young.halts).toMatchObject([{ reason: 'OpeningListNotApproved' }])
  // The same list once it is old enough, so an approval of it still fits.
  const approvals = [young.opening?.hash ?? '']
  const early = planSync(world({ ...total, objects: [newborn('Secret/a')], inventory: { approvals } }))
  expect(early.opening).toMatchObject({ keys: [], isAgreed: true, isWhole: false })
  const old = planSync(world({ ...total, objects: [stranger('Secret/a')], inventory: { approvals } }))
  expect(old).toMatchObject({ halts: [], opening: { keys: [], isAgreed: true, isWhole: true } })
})

test('an opening list settles nothing while a kind could not be read', () => {
  expect(planSync(world({ ...total, unknown: noWidgets })).opening).toMatchObject({ keys: [], isWhole: false })
  expect(planSync(world(total)).opening).toMatchObject({ keys: [], isAgreed: false, isWhole: true })
})

test('what another program manages and git does not declare stays in mode total, also if git takes over from it', () => {
  const marked = (text: string) => stranger(text, { metadata: note('meta.helm.sh/release-name', 'r') })
  const plan = planSync(
    world({
      ...total,
      declared: [declare('ConfigMap/a')],
      objects: [marked('ConfigMap/a'), marked('ConfigMap/b')],
      policy: { mode: 'total', adoptFrom: ['helm'] },
    }),
  )
  expect(steps(plan)).toEqual(['adopt ConfigMap shop/a', 'keep ConfigMap shop/b foreign'])
  expect(plan.opening?.keys).toEqual([])
})

test('while the opening list is not approved, members go all the same', () => {
  const input = world({
    ...total,
    objects: [stranger('ConfigMap/a'), live('ConfigMap/b')],
    members: [member('ConfigMap/b')],
  })
  expect(allowedDeletions(planSync(input), input.policy).map(short)).toEqual(['delete ConfigMap shop/b'])
})

test('a deletion names the UID and the version that were seen', () => {
  const parts = {
    objects: [live('ConfigMap/a', { uid: 'u-a' }), stranger('ConfigMap/b', { uid: 'u-b' })],
    members: [member('ConfigMap/a', { uid: 'u-a', from: { path: 'app/a.yaml', document: 1, line: 3 } })],
    deletion: { strangerGraceMs: 0 },
  }
  const { opening } = planSync(world({ ...total, ...parts }))
  const plan = planSync(world({ ...total, ...parts, inventory: { openingHash: opening?.hash ?? '' } }))
  expect(plan.steps).toEqual([
    {
      do: 'delete',
      key: key('ConfigMap/a'),
      apiVersion: 'v1',
      uid: 'u-a',
      resourceVersion: '7',
      isStranger: false,
      since: new Date(nowMs).toISOString(),
      layer: 4,
      weight: 1,
      why: 'nothing declares it any more; it was declared at app/a.yaml:3',
    },
    expect.objectContaining({ do: 'delete', uid: 'u-b', resourceVersion: '7', isStranger: true }),
  ])
})

test('in mode observe the plan shows everything, and nothing of it may be done', () => {
  const input = world({
    declared: [declare('ConfigMap/new')],
    objects: [live('ConfigMap/a')],
    members: [member('ConfigMap/a')],
    policy: { mode: 'observe' },
  })
  const plan = planSync(input)
  expect(steps(plan)).toEqual(['delete ConfigMap shop/a', 'create ConfigMap shop/new'])
  expect(allowedWrites(plan, input.policy)).toEqual([])
  expect(allowedDeletions(plan, input.policy)).toEqual([])
  expect(plan.hash).toBe(planSync({ ...input, policy: { ...input.policy, mode: 'adopt' } }).hash)
})

test('one conflict, and nothing is written or deleted', () => {
  const input = world({
    declared: [declare('ConfigMap/new'), declare('ConfigMap/other/x')],
    objects: [live('ConfigMap/a')],
    members: [member('ConfigMap/a')],
  })
  const plan = planSync(input)
  expect(plan.steps).toHaveLength(3)
  expect([...allowedWrites(plan, input.policy), ...allowedDeletions(plan, input.policy)]).toEqual([])
})

test('a step waits only for what the plan writes, also behind what stays as it is', () => {
  const after = (name: string) => ({
    annotations: { 'config.kubernetes.io/depends-on': `/namespaces/shop/ConfigMap/${name}` },
  })
  const plan = planSync(
    world({
      declared: [declare('ConfigMap/a'), declare('ConfigMap/b', after('a')), declare('ConfigMap/c', after('b'))],
      objects: [live('ConfigMap/b')],
      members: [member('ConfigMap/b')],
    }),
  )
  expect(plan.steps).toMatchObject([
    { key: { name: 'a' }, after: [] },
    { key: { name: 'c' }, after: [{ name: 'a' }] },
  ])
})

test.for<[string, Record<string, string>, WorldParts, boolean]>([
  ['what git changed', {}, { members: [member('ConfigMap/a')], compare: changed }, true],
  ['what somebody changed', {}, { members: [member('ConfigMap/a')], compare: drifted }, true],
  ['what becomes ours', {}, {}, true],
  ['not what is never changed', { 'fettle.dev/apply': 'ifNotPresent' }, {}, false],
  ['not what may be changed', { 'fettle.dev/replace': 'auto' }, { compare: changed }, false],
])('made anew instead of any change: %s', ([, annotations, parts, isReplaced]) => {
  const declared = [declare('ConfigMap/a', { annotations: { 'fettle.dev/replace': 'always', ...annotations } })]
  const [step, ...others] = planSync(world({ declared, objects: [live('ConfigMap/a')], ...parts })).steps
  expect(others).toEqual([])
  expect(step !== undefined && 'replaces' in step).toBe(isReplaced)
})

const dependsOn = (name: string) => note('config.kubernetes.io/depends-on', `/namespaces/shop/${name}`)

test.for<[string, ReturnType<typeof live>[], string[]]>([
  ['by kinds', [live('ConfigMap/a'), live('Deployment/d'), live('Service/s')], ['Deployment', 'Service', 'ConfigMap']],
  [
    'after what depends on it',
    [live('ConfigMap/a'), live('Service/s', { metadata: dependsOn('ConfigMap/a') }), live('Deployment/d')],
    ['Deployment', 'Service', 'ConfigMap'],
  ],
  [
    'also against the kinds',
    [
      live('ConfigMap/a', { metadata: note('config.kubernetes.io/depends-on', 'apps/namespaces/shop/Deployment/d') }),
      live('Deployment/d'),
      live('Service/s'),
    ],
    ['ConfigMap', 'Deployment', 'Service'],
  ],
  [
    'and with it goes before it what needs it',
    [
      live('ConfigMap/a', {
        metadata: note('config.kubernetes.io/depends-on', 'networking.k8s.io/namespaces/shop/Ingress/i'),
      }),
      live('Deployment/d', { body: { spec: { template: { spec: { volumes: [{ configMap: { name: 'a' } }] } } } } }),
      live('Ingress/i'),
    ],
    ['Deployment', 'ConfigMap', 'Ingress'],
  ],
  [
    'the last wave first, each by its kinds',
    [
      live('ConfigMap/a', { metadata: note('fettle.dev/wave', '1') }),
      live('Deployment/d', { metadata: note('fettle.dev/wave', '1') }),
      live('Service/s'),
    ],
    ['Deployment', 'ConfigMap', 'Service'],
  ],
  [
    'what it depends on may be gone',
    [live('ConfigMap/a', { metadata: dependsOn('Secret/gone') }), live('Service/s')],
    ['Service', 'ConfigMap'],
  ],
  [
    'by kinds, if each would have to go first',
    [
      live('ConfigMap/a', { metadata: dependsOn('Service/s') }),
      live('Service/s', { metadata: dependsOn('ConfigMap/a') }),
    ],
    ['Service', 'ConfigMap'],
  ],
])('things go %s', ([, objects, expected]) => {
  const members = objects.map(({ key, uid, apiVersion }) => ({ key, uid, apiVersion }))
  const deletes = planSync(world({ objects, members })).steps.filter((step) => step.do === 'delete')
  // One after the other, so no two of them share a layer.
  expect(new Set(deletes.map(({ layer }) => layer)).size).toBe(objects.length)
  expect(deletes.toSorted((one, other) => other.layer - one.layer).map(({ key }) => key.kind)).toEqual(expected)
})
