import { expect, test } from 'vitest'
import { keyText } from './key.ts'
import { namedKey } from './named-key.ts'

const served = (
  group: string,
  plural: string,
  kind: string,
  shortNames: readonly string[] = [],
  namespaced = true,
) => ({
  resource: { group, version: 'v1', plural, kind, namespaced },
  verbs: [],
  isAggregated: false,
  shortNames,
})
const catalog = {
  kinds: [
    served('events.k8s.io', 'events', 'Event'),
    served('', 'events', 'Event', ['ev']),
    served('', 'configmaps', 'ConfigMap', ['cm']),
    served('', 'namespaces', 'Namespace', ['ns'], false),
    served('apps', 'deployments', 'Deployment', ['deploy']),
    served('sly.example.org', 'things', 'Sly', ['deployments', 'cm']),
    served('networking.istio.io', 'gateways', 'Gateway'),
    served('gateway.networking.k8s.io', 'gateways', 'Gateway'),
  ],
}

test.for<[string, string | RegExp]>([
  ['Deployment.apps/web', 'Deployment.apps shop/web'],
  ['Deployment/web', 'Deployment.apps shop/web'],
  ['deployment.apps/web', 'Deployment.apps shop/web'],
  ['deployments/web', 'Deployment.apps shop/web'],
  ['deploy/web', 'Deployment.apps shop/web'],
  ['deploy.apps/web', 'Deployment.apps shop/web'],
  ['configmaps/a', 'ConfigMap shop/a'],
  ['cm/a', 'ConfigMap shop/a'],
  ['CM/other/a', 'ConfigMap other/a'],
  ['cm.sly.example.org/a', 'Sly.sly.example.org shop/a'],
  ['deployments.sly.example.org/a', 'Sly.sly.example.org shop/a'],
  ['ns/shop', 'Namespace shop'],
  ['Deployment/other/web', 'Deployment.apps other/web'],
  ['Event/a', 'Event shop/a'],
  ['Event.events.k8s.io/a', 'Event.events.k8s.io shop/a'],
  ['Namespace/shop', 'Namespace shop'],
  ['Gateway.networking.istio.io/a', 'Gateway.networking.istio.io shop/a'],
  ['Gateway/a', /several groups .* Gateway\.networking\.istio\.io\/a or Gateway\.gateway\.networking\.k8s\.io\/a/],
  ['Thing.gone.example.org/a', 'Thing.gone.example.org shop/a'],
  ['Thing/a', /the server knows no kind Thing/],
  ['web', /names no object/],
  ['Deployment/', /names no object/],
  ['Deployment/shop/', /names no object/],
  ['a/b/c/d', /names no object/],
])('%s', ([text, expected]) => {
  const key = namedKey(text, 'shop', catalog)
  if (typeof expected === 'string') expect('problem' in key ? key.problem : keyText(key)).toBe(expected)
  else expect(key).toEqual({ problem: expect.stringMatching(expected) })
})
