import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { refusal, useApiObjects } from '../support/api-objects.ts'
import { repository } from '../support/fettle-process.ts'

const api = useApiObjects()
const selector = { matchLabels: { app: 'backup' } }
const url = 'http://prometheus.monitoring:9090'
type Case = readonly [blocker: object, result: object]
type Refused = readonly [blocker: object, message: string]
const tryBlocker = (blocker: object) => api().tryBudget({ blockers: [{ name: 'one', ...blocker }] })

describe('a blocker', () => {
  test.for([
    [{ pods: { selector } }, { pods: { selector, onThisNode: true } }],
    [{ alerts: { url } }, { alerts: { url, firingOnly: false, deadline: '5s' } }],
    [
      { alerts: { url: `${url}/prefix/`, ignore: 'Watchdog|Info.+', labels: { severity: 'critical' } } },
      { alerts: { labels: { severity: 'critical' } } },
    ],
    [{ nodeCondition: { type: 'Sick' } }, { nodeCondition: { type: 'Sick', status: 'True', anyNode: false } }],
    [
      { hook: { url: 'https://board.example', deadline: '30s', tokenSecretKey: 'board' } },
      { hook: { url: 'https://board.example', deadline: '30s', tokenSecretKey: 'board' } },
    ],
  ] satisfies readonly Case[])('is accepted as %j, and gets its defaults', async ([blocker, stored]) => {
    expect((await tryBlocker(blocker)).spec?.['blockers']).toMatchObject([{ name: 'one', ...stored }])
  })

  test.for([
    [{}, 'spec.blockers[0]: Invalid value: a blocker has exactly one of pods, alerts, nodeCondition and hook'],
    [{ pods: { selector }, hook: { url } }, 'a blocker has exactly one of pods, alerts, nodeCondition and hook'],
    [{ alerts: { url, ignore: 'A', only: 'B' } }, 'say which alerts to ignore, or which alone to look at; not both'],
    [{ alerts: { url, labels: { 'a-b': '' } } }, 'labels of an alert consist of letters, digits and _'],
    [{ alerts: { url, deadline: '31s' } }, 'spec.blockers[0].alerts.deadline: Invalid value: "31s": is 1s to 30s'],
    [{ hook: { url, deadline: '500ms' } }, 'spec.blockers[0].hook.deadline: Invalid value: "500ms": is 1s to 30s'],
    [{ hook: { url: 'http://user:password-7@board' } }, 'spec.blockers[0].hook.url'],
    [{ hook: { url: 'ftp://board' } }, 'spec.blockers[0].hook.url'],
    [{ hook: { url: 'http://board/?a=b' } }, 'spec.blockers[0].hook.url'],
    [{ nodeCondition: { type: 'Sick', status: 'Unknown' } }, 'spec.blockers[0].nodeCondition.status'],
    [{ pods: { selector, namespaces: [] } }, 'spec.blockers[0].pods.namespaces'],
    [
      { pods: { selector: { matchExpressions: [{ key: 'app', operator: 'In' }] } } },
      'In and NotIn need values, Exists and DoesNotExist have none',
    ],
    [
      { pods: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['a'] }] } } },
      'In and NotIn need values, Exists and DoesNotExist have none',
    ],
  ] satisfies readonly Refused[])('is refused as %j', async ([blocker, message]) => {
    expect(await refusal(tryBlocker(blocker))).toContain(message)
  })

  test('is accepted as the guide writes it', async () => {
    const guide = readFileSync(join(repository, 'docs/guides/blockers.md'), 'utf8')
    const [, text = ''] = /^```yaml\n(.*?)^```$/ms.exec(guide) ?? []
    const { spec } = parse(text) as { readonly spec: { readonly blockers: readonly object[] } }
    expect((await api().tryBudget(spec)).spec).toMatchObject(spec)
  })
})
