import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createProgram } from './program.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fettle-import-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function run(text: string, ...args: readonly string[]) {
  const file = join(folder, 'input.yaml')
  await writeFile(file, text)
  const said = { out: '', err: '', code: 0, fault: '' }
  const program = createProgram(
    {
      out: (more) => (said.out += more),
      err: (more) => (said.err += more),
      progress: { write: () => undefined },
      nowMs: () => 0,
      signal: new AbortController().signal,
      exitCode: (code) => {
        said.code = code
      },
    },
    { controller: async () => undefined, agent: async () => undefined },
  )
  await program.parseAsync(['import', ...args, file], { from: 'user' }).catch((error: Error) => {
    said.fault = error.message.replaceAll(`${folder}/`, '')
  })
  return said
}

test('objects go to stdout, what became of the settings to stderr', async () => {
  const { out, err, code, fault } = await run('configuration: {concurrency: 2}', 'kured')
  expect([code, fault]).toEqual([0, ''])
  expect(parse(out)).toMatchObject({ kind: 'MaintenanceBudget', spec: { max: 2 } })
  expect(err).toMatch(/^SETTING .*\nconfiguration\.concurrency .*input\.yaml:1 +differs: spec\.max: 2;/)
})

test('a setting without counterpart makes the exit code 1', async () => {
  expect((await run('configuration: {cooldown: 1h}', 'kured')).code).toBe(1)
})

test('input that cannot be read makes it 2, and nothing is printed but why', async () => {
  expect(await run('a: [', 'kustodian')).toMatchObject({
    code: 2,
    out: '',
    err: '',
    fault: expect.stringMatching(/^input\.yaml:1: it is not YAML/),
  })
  const missing = await run('', 'kured', join(folder, 'missing.yaml'))
  expect(missing).toMatchObject({
    code: 2,
    out: '',
    fault: expect.stringMatching(/^missing\.yaml cannot be read: ENOENT/),
  })
})

test('values are printed alone for the chart, and JSON holds everything', async () => {
  const values = await run('kustodian: {name: x}', 'kustodian', '-o', 'values')
  expect(parse(values.out)).toEqual({ agent: { reboot: { method: 'none' } } })
  const { out, err } = await run('configuration: {period: 1h}', 'kured', '--output', 'json')
  expect(err).toBe('')
  expect(JSON.parse(out)).toMatchObject({
    program: 'kured',
    objects: [{ kind: 'MaintenanceBudget' }],
    values: { agent: { reboot: { method: 'command' } } },
    secretKeys: [],
    stop: null,
    settings: [{ setting: 'configuration.period', place: { line: 1 }, outcome: 'not needed' }, {}, {}, {}],
  })
})
