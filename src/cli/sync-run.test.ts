import { expect, test } from 'vitest'
import type { Run } from '../sync/index.ts'
import { outcomeText } from './sync-run.ts'

const key = { group: '', kind: 'ConfigMap', namespace: 'shop', name: 'settings' }

function run(gone: readonly object[]): Run {
  const wait = { do: 'wait', key, uid: 'u', since: '', waitsFor: 'references', why: 'a pod uses it' }
  return {
    found: { tip: { sha: 'abc', subject: 'less' }, plan: { steps: [wait], halts: [], unchanged: 2 } },
    outcome: { is: 'Applied', created: [], changed: [], gone, stuck: [], remarks: [], problems: [] },
  } as unknown as Run
}

test('what went in the end is not said to go later', () => {
  expect(outcomeText(run([{ key, is: 'Gone', seconds: 1 }]))).toBe(`gone     ConfigMap shop/settings (1.0 s)
abc less: the namespace equals git (1 gone, 2 unchanged)
`)
  expect(outcomeText(run([]))).toContain('1 to be deleted later')
})
