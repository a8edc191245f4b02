// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the file says
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addProfilesCommands } from './profiles.ts'
import { checkedText, checkProfiles } from './profiles-check.ts'

const fixtures = join(import.meta.dirname, '../../test/fixtures/profiles')
const env = {
  SLACK_HOOK: 'https://hooks.example.com/s3cret',
  SLACK_TOKEN: 'xoxb-s3cret',
  MAIL_PASSWORD: 's3,cret',
  TRUE: 'true',
}

test.for(readdirSync(fixtures))('%s is fine as it is, but for what nothing reads', (name) => {
  const checked = checkProfiles(name, readFileSync(join(fixtures, name), 'utf8'), env, false)
  const warnings = name === 'flatcar.yaml' ? ['intervals.notify'] : []
  expect(checked.problems.map(({ path }) => path)).toEqual(warnings)
  expect(checked.ok).toBe(true)
})

test('files that guides show are fine', () => {
  const guides = join(import.meta.dirname, '../../docs/guides')
  const shown = readdirSync(guides).flatMap((name) =>
    [...readFileSync(join(guides, name), 'utf8').matchAll(/^```yaml\n(intervals:.*?)^```/gms)].map(
      ([, text = '']) => text,
    ),
  )
  expect(shown.length).toBeGreaterThan(0)
  for (const text of shown) expect(checkProfiles('guide', text, env, false).problems).toEqual([])
})

test('every problem has its place, what was seen, and what to write instead', () => {
  const text = `intervals:
  requeue: 1d
  notify: 5h
instances:
  check:
  - {type: HasLabel, name: labelled, config: {key: a}}
  - type: wait
    name: long-enough
    config:
      duration: 10
  - {type: condition, name: ready, config: {type: Ready, status: True}}
  - {type: maxMaintenance, name: max}
  notify:
  - type: slack
    name: tell
    config: {hook: "\${SLACK_HOOK}", channel: nodes, message: "{{ .Node.Name "}
profiles:
- name: a--b
  operatonal: {}
  in-maintenance:
    enter: drain
    transitions:
    - check: ready && max) || labelled
      next: Operational
`
  expect(checkedText(checkProfiles('m.yaml', text, env, false))).toMatchInlineSnapshot(`
    "m.yaml:2:12: error: intervals.requeue: it is "1d"; write a duration with its unit, such as 90s, 10m or 1h30m; a day is 24h
    m.yaml:3:3: warning: intervals.notify: there is no such key, and nothing reads it; leave it out
    m.yaml:6:12: error: instances.check[0].type: there is no type HasLabel; did you mean hasLabel?
    m.yaml:8:11: warning: instances.check[1].name: the original cannot read long-enough in a chain; if you may go back to it, use letters, digits and _ only
    m.yaml:10:17: error: instances.check[1].config.duration: it is 10; write a duration with its unit, such as 90s, 10m or 1h30m; a day is 24h
    m.yaml:11:66: warning: instances.check[2].config.status: no condition ever has the status true; write "True", with the quotes
    m.yaml:12:5: error: instances.check[3].config: maxMaintenance has no config; write config with max
    m.yaml:14:5: error: instances.notify[0].schedule: it has no schedule; write schedule with a type of periodic, scheduled, oneshot, and config
    m.yaml:16:62: error: instances.notify[0].config.message: the template cannot be read: line 1, column 1: these braces are not closed; write }} behind the action
    m.yaml:18:9: warning: profiles[0].name: no node can have a--b: -- parts the names in the label; write a single dash
    m.yaml:19:3: warning: profiles[0].operatonal: there is no such key, and nothing reads it; did you mean operational?
    m.yaml:21:12: error: profiles[0].in-maintenance.enter: there is no trigger drain; write it under instances.trigger
    m.yaml:23:26: error: profiles[0].in-maintenance.transitions[0].check: a ) stands here that nothing opened; take it out
    m.yaml:24:13: error: profiles[0].in-maintenance.transitions[0].next: there is no state Operational; did you mean operational?
    m.yaml: 9 errors, 5 warnings, 2 profiles: a--b, default
    "
  `)
})

test('without the environment, what it gives is left out', () => {
  const text = readFileSync(join(fixtures, 'flatcar.yaml'), 'utf8')
  const checked = checkProfiles('flatcar.yaml', text, undefined, false)
  expect(checked.ok).toBe(true)
  expect(checkedText(checked)).toMatchInlineSnapshot(`
    "flatcar.yaml:4:3: warning: intervals.notify: there is no such key, and nothing reads it; leave it out
    flatcar.yaml:10:15: warning: instances.notify[0].config.hook: it is not looked at: SLACK_HOOK is not set; set it in the environment, or write what counts then as in \${NAME:this}
    flatcar.yaml:22:15: warning: instances.notify[1].config.hook: it is not looked at: SLACK_HOOK is not set; set it in the environment, or write what counts then as in \${NAME:this}
    flatcar.yaml: no errors, 3 warnings, 2 profiles: flatcar, default
    "
  `)
  expect(checkProfiles('flatcar.yaml', text, {}, false).ok).toBe(false)
})

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fettle-check-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function run(
  ...args: readonly string[]
): Promise<{ out: string; code: number | undefined; fault: string | undefined }> {
  let out = ''
  let code: number | undefined
  const program = new Command('fettle').exitOverride().configureOutput({ writeErr: () => undefined })
  addProfilesCommands(program, {
    out: (text) => {
      out += text
    },
    err: () => undefined,
    progress: process.stderr,
    nowMs: () => 0,
    signal: new AbortController().signal,
    exitCode: (value) => {
      code = value
    },
  })
  const fault = await program.parseAsync(['profiles', ...args], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => String(error),
  )
  return { out, code, fault }
}

test.for<[string, string, readonly string[], number | undefined]>([
  ['a good file', 'intervals: {requeue: 1m}', [], undefined],
  ['a warning', 'intervals: {requeue: 1m}\nkeys: 1', [], undefined],
  ['a warning that counts', 'intervals: {requeue: 1m}\nkeys: 1', ['--strict'], 1],
  ['an error', 'intervals: {requeue: 0}', [], 1],
  ['no YAML', 'a: [', [], 1],
  ['an error in JSON', 'intervals: {requeue: 0}', ['-o', 'json'], 1],
  ['a variable that is not set', 'intervals: {requeue: "${FETTLE_TEST_UNSET}"}', [], 1],
  ['a variable that is not looked at', 'intervals: {requeue: "${FETTLE_TEST_UNSET}"}', ['--no-env'], undefined],
])('%s', async ([name, text, flags, code]) => {
  const file = join(folder, `${name}.yaml`)
  await writeFile(file, `${text}\n`)
  const ran = await run('check', file, ...flags)
  expect(ran).toMatchObject({ code, fault: undefined })
  expect(ran.out).toContain(file)
})

test('a file that cannot be read ends with 2', async () => {
  expect(await run('check', join(folder, 'nowhere.yaml'))).toMatchObject({
    out: '',
    code: 2,
    fault: expect.stringMatching(/nowhere\.yaml cannot be read: ENOENT/),
  })
})

test('as JSON it says the same', async () => {
  const file = join(folder, 'json.yaml')
  await writeFile(file, 'intervals: {requeue: 1m}\nkeys: 1\nprofiles: [{name: p}]\n')
  const { out } = await run('check', file, '-o', 'json')
  expect(JSON.parse(out)).toEqual({
    file,
    ok: true,
    problems: [
      {
        severity: 'warning',
        line: 2,
        column: 1,
        path: 'keys',
        message: 'there is no such key, and nothing reads it; leave it out',
      },
    ],
    profiles: ['p', 'default'],
  })
})
