import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { acceptedObjects } from './fixture-schemas.ts'
import { importSettings } from './import-settings.ts'
import { kured } from './kured.ts'
import { kustodian } from './kustodian.ts'
import { importJson, importTable, importValues, importYaml } from './print.ts'
import type { ImportedProgram } from './program.ts'

/** Texts that one flag or another means something by, and some that none does. */
const text = fc.oneof(
  fc.constantFrom('', '0', '1', '-1', '39', 'true', 'false', '5m', '1.5h', 'command', 'signal', 'none', 'text'),
  fc.constantFrom(
    'mon',
    'mo,3',
    'someday',
    '22:00',
    '3am',
    '03:04pm',
    '23:59:59',
    'Europe/Paris',
    'Local',
    '%s',
    '100%%',
  ),
  fc.constantFrom('a=b', 'a=b,c=d', '!x', 'x in (a,b)', 'x>1', 'example.com/key', '/var/run/x', 'http://p:9090', '.*'),
  fc.constantFrom('slack://a/b/c', 'smtp://h/?from=a@b.c&to=d@e.f', 'smtp://u:p@h', 'generic://h/x', 'teams://x'),
  fc.string({ maxLength: 100 }),
)

const ways = ['argument', 'spaced', 'values', 'extra', 'environment'] as const

const written = (program: ImportedProgram) =>
  fc.array(
    fc.record({ flag: fc.constantFrom(...Object.keys(program.flags)), value: text, way: fc.constantFrom(...ways) }),
    { maxLength: 12 },
  )

type Written = { readonly flag: string; readonly value: string; readonly way: (typeof ways)[number] }

const camelCase = (flag: string) => flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
const variable = (program: ImportedProgram, flag: string) =>
  `${program.environmentPrefix}${flag.toUpperCase().replaceAll('-', '_')}`

/** The files that say so, and the names under which each setting has to turn up. */
function inputOf(program: ImportedProgram, settings: readonly Written[]) {
  const of = (...chosen: readonly Written['way'][]) => settings.filter(({ way }) => chosen.includes(way))
  const args = of('argument', 'spaced').flatMap(({ flag, value, way }) =>
    way === 'spaced' && program.flags[flag] !== 'switch' ? [`--${flag}`, value] : [`--${flag}=${value}`],
  )
  const environment = of('environment').map(({ flag, value }) => ({ name: variable(program, flag), value }))
  const container = { name: 'x', command: [`/usr/bin/${program.executable}`], args, env: environment }
  const manifest = { kind: 'DaemonSet', spec: { template: { spec: { containers: [container] } } } }
  const flags = Object.fromEntries(of('values').map(({ flag, value }) => [camelCase(flag), value]))
  const extraArgs = Object.fromEntries(of('extra').map(({ flag, value }) => [flag, value]))
  const hasChart = program.chart.flagsBelow !== undefined
  return {
    files: [
      ...(hasChart ? [{ file: 'values.yaml', text: JSON.stringify({ configuration: flags, extraArgs }) }] : []),
      { file: 'ds.yaml', text: JSON.stringify(manifest) },
    ],
    names: [
      ...of('argument', 'spaced').map(({ flag }) => `--${flag}`),
      ...environment.map(({ name }) => name),
      ...(hasChart ? Object.keys(flags).map((key) => `configuration.${key}`) : []),
      ...(hasChart ? Object.keys(extraArgs).map((key) => `extraArgs.${key}`) : []),
    ],
  }
}

test.each([kured, kustodian])(
  'any settings of $name give objects that the API takes, and each is mentioned',
  (program) => {
    fc.assert(
      fc.property(written(program), (settings) => {
        const { files, names } = inputOf(program, settings)
        const imported = importSettings(program, files)
        acceptedObjects(imported)
        const mentioned = imported.findings.map(({ setting }) => setting)
        expect(mentioned).toEqual(expect.arrayContaining(names))
        // As often as it was written, so that of two with one name none gets lost.
        for (const name of names)
          expect(mentioned.filter((one) => one === name).length).toBe(names.filter((one) => one === name).length)
        expect(imported.findings.every(({ text: said }) => said !== '' && !said.includes('undefined'))).toBe(true)
        const documents = parseAllDocuments(importYaml(imported), { version: '1.1' })
        expect(documents.map((document) => 'toJS' in document && document.toJS())).toEqual(imported.objects)
        expect(JSON.parse(importJson(imported))).toMatchObject({ objects: imported.objects, values: imported.values })
        expect(importValues(imported)).toMatch(/^agent:/)
        expect(importTable(imported).split('\n').length).toBeGreaterThan(imported.findings.length)
      }),
      { numRuns: 400 },
    )
  },
)
