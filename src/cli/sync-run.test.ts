import { describe, expect, test } from 'vitest'
import { type Run, SyncRejected } from '../sync/index.ts'
import { outcomeText, toldOnce } from './sync-run.ts'

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

describe('with --watch', () => {
  const problem = { path: 'b.yaml', line: 3, message: 'this is no YAML' }
  const rejected = (line = 3) => new SyncRejected('git declares what cannot be put in force', [{ ...problem, line }])
  const failed = (problems: readonly string[], afterwards?: string) => {
    const { found, outcome } = run([])
    return { found, outcome: { ...outcome, is: 'Failed', problems }, afterwards } as Run
  }

  test('a commit that cannot be read is told with file and line, once', () => {
    const told = toldOnce()
    expect(told({ error: rejected() })).toBe(
      'b.yaml:3: this is no YAML\ngit declares what cannot be put in force. Nothing was changed.\n',
    )
    expect(told({ error: rejected() })).toBe('')
    expect(told({ error: rejected(4) })).toContain('b.yaml:4')
  })

  test('a failure is told once, with what becomes of it', () => {
    const told = toldOnce()
    expect(told(failed(['a: exceeded quota'], 'it is tried again'))).toBe(`problem  a: exceeded quota
abc less: failed; what was applied stays, and nothing more was deleted; it is tried again
`)
    expect(told(failed(['a: exceeded quota'], 'it is tried again'))).toBe('')
    expect(told(failed(['b: exceeded quota'], 'it is tried again'))).toContain('b: exceeded quota')
  })

  test('what was done twice is told twice', () => {
    const told = toldOnce()
    expect(told(run([]))).not.toBe('')
    expect(told(run([]))).not.toBe('')
  })

  test('what is remembered wrongly is a warning, and nothing is said to be done about it', () => {
    expect(toldOnce()({ findings: ['ConfigMap shop/a: is gone'] })).toMatch(
      /^warning: .*Nothing is repaired by itself.*verify --repair.*\nConfigMap shop\/a: is gone\n$/,
    )
  })
})
