import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addSyncOptions, ignoreRuleOf } from './sync-options.ts'

const served = (group: string, plural: string, kind: string, shortNames: readonly string[]) => ({
  resource: { group, version: 'v1', plural, kind, namespaced: true },
  verbs: [],
  isAggregated: false,
  shortNames,
})
const catalog = {
  kinds: [served('', 'configmaps', 'ConfigMap', ['cm']), served('apps', 'deployments', 'Deployment', [])],
}

test('help tells no default of what may be said several times, or not at all', () => {
  expect(addSyncOptions(new Command('plan')).helpInformation()).not.toMatch(/default: *(\[\]|"")/)
})

test.for([
  ['ConfigMap', { group: '', kind: 'ConfigMap' }],
  ['cm/cache-*', { group: '', kind: 'ConfigMap', name: 'cache-*' }],
  ['deployments/*', { group: 'apps', kind: 'Deployment', name: '*' }],
  ['Certificate.cert-manager.io/*', { group: 'cert-manager.io', kind: 'Certificate', name: '*' }],
] as const)('--ignore %s', ([said, rule]) => {
  expect(ignoreRuleOf(said, catalog)).toEqual(rule)
})

test('--ignore of a kind that nobody knows is a slip', () => {
  expect(() => ignoreRuleOf('Confgmap/a', catalog)).toThrow(/--ignore Confgmap\/a: the server knows no kind Confgmap/)
})
