import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeclaredObject } from '../declared.ts'
import { keyId, keyText } from '../key.ts'
import { declare, key, live } from './fixture-plan.ts'
import { deletionLayers, edgesOf, layerOf } from './order.ts'

test('kinds come in layers', () => {
  const kinds = [
    ['Namespace/shop', 'PersistentVolume/a', 'CustomResourceDefinition/a', 'ServiceAccount/a', 'Secret/a', 'Service/a'],
    ['Deployment/a', 'Ingress/a', 'Widget/a', 'ValidatingWebhookConfiguration/a'],
  ].flat()
  expect(kinds.map((text) => layerOf(key(text)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  const gateway = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop', name: 'a' }
  expect(layerOf(gateway)).toBe(layerOf(key('Ingress/a')))
  expect(layerOf({ ...key('Deployment/a'), group: 'example.com' })).toBe(8)
})

/** `a < b`: a has to be there before b. */
function edges(declared: readonly DeclaredObject[]): string[] {
  const found = edgesOf(declared)
  if ('cycle' in found) return [`ring ${found.cycle.map(keyText).join(' ')}`]
  return [
    ...declared.flatMap((one) =>
      (found.after.get(keyId(one.key)) ?? []).map((need) => `${need.name} < ${one.key.name}`),
    ),
    ...found.problems.map((problem) => `${problem.key.name}: ${problem.why}`),
  ]
}

const note = (name: string, value: string) => ({ annotations: { [name]: value } })
const dependsOn = (value: string) => note('config.kubernetes.io/depends-on', value)
const podWith = (spec: object) => ({ spec: { template: { spec: spec as never } } })
const binding = (kind: string, name: string) => ({ roleRef: { kind, name, apiGroup: 'rbac.authorization.k8s.io' } })

test.for<[string, DeclaredObject[], string[]]>([
  ['nothing is said and nothing needed', [declare('ConfigMap/a'), declare('ConfigMap/b')], []],
  [
    'depends-on, in a namespace',
    [
      declare('ConfigMap/a', dependsOn('apps/namespaces/shop/Deployment/d, /namespaces/shop/Secret/s')),
      declare('Deployment/d'),
      declare('Secret/s'),
    ],
    ['d < a', 's < a'],
  ],
  [
    'depends-on, of the whole cluster',
    [declare('ConfigMap/a', dependsOn('rbac.authorization.k8s.io/ClusterRole/r')), declare('ClusterRole/r')],
    ['r < a'],
  ],
  [
    'depends-on what nothing declares',
    [declare('ConfigMap/a', dependsOn('/namespaces/shop/Secret/s'))],
    [
      'a: it depends on Secret shop/s, which nothing declares: declare it, or take it out of config.kubernetes.io/depends-on',
    ],
  ],
  [
    'depends-on what is no reference',
    [declare('ConfigMap/a', dependsOn('Secret s'))],
    ['a: config.kubernetes.io/depends-on is "Secret s": write group/kind/name or group/namespaces/namespace/kind/name'],
  ],
  ['itself', [declare('ConfigMap/a', dependsOn('/namespaces/shop/ConfigMap/a'))], ['ring ConfigMap shop/a']],
  [
    'waves of Argo CD; without one it is 0',
    [
      declare('ConfigMap/a', note('argocd.argoproj.io/sync-wave', '-1')),
      declare('ConfigMap/b'),
      declare('ConfigMap/c', note('argocd.argoproj.io/sync-wave', '5')),
    ],
    ['a < b', 'b < c'],
  ],
  ['our own waves', [declare('ConfigMap/a', note('fettle.dev/wave', '1')), declare('ConfigMap/b')], ['b < a']],
  [
    'a wave that is no number',
    [declare('ConfigMap/a', note('fettle.dev/wave', 'soon'))],
    ['a: its wave is not a whole number: write for example "2"'],
  ],
  [
    'rules of kapp, both ways',
    [
      declare('ConfigMap/a', note('kapp.k14s.io/change-group', 'example.com/db')),
      declare('ConfigMap/b', note('kapp.k14s.io/change-rule.db', 'upsert after upserting example.com/db')),
      declare('ConfigMap/c', note('kapp.k14s.io/change-rule', 'upsert before upserting example.com/db')),
    ],
    ['c < a', 'a < b'],
  ],
  [
    'what pods read, and who they are',
    [
      declare(
        'Deployment/d',
        podWith({
          serviceAccountName: 'sa',
          imagePullSecrets: [{ name: 'pull' }],
          volumes: [
            { configMap: { name: 'cm' } },
            { secret: { secretName: 's' } },
            { persistentVolumeClaim: { claimName: 'pvc' } },
            { projected: { sources: [{ secret: { name: 'token' } }] } },
            { csi: { nodePublishSecretRef: { name: 'csi' } } },
          ],
          containers: [
            {
              envFrom: [{ secretRef: { name: 'env' } }],
              env: [
                { name: 'A', valueFrom: { configMapKeyRef: { name: 'one', key: 'k' } } },
                { name: 'B', value: 'no' },
              ],
            },
          ],
        }),
      ),
      ...[
        'ServiceAccount/sa',
        'Secret/pull',
        'ConfigMap/cm',
        'Secret/s',
        'PersistentVolumeClaim/pvc',
        'Secret/token',
      ].map((text) => declare(text)),
      ...['Secret/csi', 'Secret/env', 'ConfigMap/one', 'ConfigMap/no', 'ConfigMap/other/cm'].map((text) =>
        declare(text),
      ),
    ],
    ['env < d', 'one < d', 'cm < d', 's < d', 'pvc < d', 'token < d', 'csi < d', 'pull < d', 'sa < d'],
  ],
  [
    'roles of bindings',
    [
      declare('RoleBinding/a', binding('Role', 'r')),
      declare('RoleBinding/b', binding('ClusterRole', 'c')),
      declare('Role/r'),
      declare('ClusterRole/c'),
    ],
    ['r < a', 'c < b'],
  ],
  [
    'services of an ingress',
    [
      declare('Ingress/i', {
        spec: {
          defaultBackend: { service: { name: 'a' } },
          rules: [{ http: { paths: [{ backend: { service: { name: 'b' } } }] } }],
        },
      }),
      declare('Service/a'),
      declare('Service/b'),
    ],
    ['a < i', 'b < i'],
  ],
  [
    'the definition of a kind',
    [
      declare('Widget/w'),
      declare('CustomResourceDefinition/widgets.example.com', {
        spec: { group: 'example.com', names: { kind: 'Widget' } },
      }),
    ],
    ['widgets.example.com < w'],
  ],
  [
    'a guess gives way to what is said',
    [
      declare('Deployment/d', podWith({ volumes: [{ configMap: { name: 'cm' } }] })),
      declare('ConfigMap/cm', dependsOn('apps/namespaces/shop/Deployment/d')),
    ],
    ['d < cm'],
  ],
  [
    'what is said in a ring is an error',
    [
      declare('ConfigMap/a', dependsOn('/namespaces/shop/ConfigMap/b')),
      declare('ConfigMap/b', {
        annotations: { 'config.kubernetes.io/depends-on': '/namespaces/shop/ConfigMap/a', 'fettle.dev/wave': '1' },
      }),
    ],
    ['ring ConfigMap shop/a ConfigMap shop/b'],
  ],
])('order: %s', ([, declared, expected]) => {
  expect(edges(declared)).toEqual(expected)
})

test('who waits for a higher layer is in it, and a wave has layers of its own', () => {
  const found = edgesOf([
    declare('Job/migrate', note('argocd.argoproj.io/sync-wave', '-1')),
    declare('ConfigMap/a'),
    declare('Secret/s', {
      annotations: {
        'argocd.argoproj.io/sync-wave': '-1',
        'config.kubernetes.io/depends-on': 'batch/namespaces/shop/Job/migrate',
      },
    }),
  ])
  const texts = ['Job/migrate', 'Secret/s', 'ConfigMap/a']
  expect('layers' in found && texts.map((text) => found.layers.get(keyId(key(text))))).toEqual([6, 6, 7])
})

function liveFrom({ key: { kind, name }, body: { metadata, ...body } }: DeclaredObject) {
  return live(`${kind}/${name}`, { metadata: metadata as object, body })
}

const names = ['a', 'b', 'c', 'd', 'e']
const objects = fc.uniqueArray(
  fc.record({
    text: fc.constantFrom(...names.flatMap((name) => [`ConfigMap/${name}`, `Deployment/${name}`])),
    needs: fc.subarray(names),
    wave: fc.integer({ min: -1, max: 1 }),
    mounts: fc.subarray(names),
  }),
  { selector: ({ text }) => text },
)

test('whatever is declared: no step waits for itself, nor for a higher layer, what waits goes first, and the order of files is nothing', () => {
  fc.assert(
    fc.property(objects, fc.boolean(), fc.boolean(), (all, hasWaves, hasNeeds) => {
      const ids = new Set(all.map(({ text }) => text))
      const declared = all.map(({ text, needs, wave, mounts }) =>
        declare(text, {
          ...podWith({ volumes: mounts.map((name) => ({ configMap: { name } })) }),
          annotations: {
            ...(hasWaves ? { 'fettle.dev/wave': String(wave) } : {}),
            ...(hasNeeds
              ? {
                  'config.kubernetes.io/depends-on': needs
                    .filter((name) => ids.has(`Deployment/${name}`))
                    .map((name) => `apps/namespaces/shop/Deployment/${name}`)
                    .join(','),
                }
              : {}),
          },
        }),
      )
      const found = edgesOf(declared)
      expect(edgesOf([...declared].reverse())).toEqual(found)
      const going = deletionLayers(declared.map(liveFrom))
      expect(deletionLayers(declared.map(liveFrom).reverse())).toEqual(going)
      if ('cycle' in found) {
        expect(hasNeeds && found.cycle.length > 0).toBe(true)
        expect(going.size).toBe(0)
        return
      }
      const isDone = new Set<string>()
      for (let before = -1; before < isDone.size; ) {
        before = isDone.size
        for (const one of declared)
          if ((found.after.get(keyId(one.key)) ?? []).every((need) => isDone.has(keyId(need))))
            isDone.add(keyId(one.key))
      }
      expect(isDone.size).toBe(declared.length)
      for (const one of declared) {
        const own = found.layers.get(keyId(one.key)) ?? -1
        expect(own).toBeGreaterThanOrEqual(layerOf(one.key))
        const gone = going.get(keyId(one.key)) ?? -1
        if (hasWaves || hasNeeds) expect(gone).toBeGreaterThanOrEqual(layerOf(one.key))
        else expect(gone).toBe(layerOf(one.key))
        for (const need of found.after.get(keyId(one.key)) ?? []) {
          expect(found.layers.get(keyId(need))).toBeLessThanOrEqual(own)
          expect(going.get(keyId(need))).toBeLessThan(gone)
        }
      }
    }),
  )
})

test('a chain may be long', () => {
  const chain = Array.from({ length: 20_000 }, (_, index) =>
    declare(`ConfigMap/c${index}`, index === 0 ? {} : dependsOn(`/namespaces/shop/ConfigMap/c${index - 1}`)),
  )
  expect(edgesOf(chain)).toHaveProperty('after.size', 19_999)
})
