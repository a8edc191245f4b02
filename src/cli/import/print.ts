import { Document, isMap, type Pair, stringify } from 'yaml'
import { notifySecretName } from '../../api/index.ts'
import { type Finding, placeText } from './finding.ts'
import type { Imported, ImportedObject } from './import-settings.ts'

// Kubernetes reads version 1.1, where a bare Off is a boolean, and 22:00 a number.
const options = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const

/** What can be applied as it is; all else is in comments. */
export function importYaml(imported: Imported): string {
  const documents = imported.objects.map((object) => objectYaml(object, imported))
  return `${commented(headOf(imported))}${documents.join('---\n')}${commented(valuesOf(imported))}`
}

export function importValues({ values }: Imported): string {
  return stringify(values, options)
}

export function importJson({ program, objects, values, findings, ...imported }: Imported): string {
  const secretKeys = imported.secretKeys.map(({ key, text }) => ({ secret: notifySecretName, key, text }))
  const settings = findings.map(({ setting, place = null, outcome, text }) => ({ setting, place, outcome, text }))
  return `${JSON.stringify({ program, objects, values, secretKeys, settings, stop: imported.stop ?? null }, null, 2)}\n`
}

function headOf({ program, secretKeys }: Imported): string {
  const files = secretKeys.map(({ key }) => `--from-file=${key}=${key}.txt`).join(' ')
  return [
    `The settings of ${program}, as Fettle has them.`,
    ...(secretKeys.length > 0
      ? [
          'Create this first; the files hold what must not be seen:',
          `  kubectl create secret generic ${notifySecretName} -n fettle-system ${files}`,
          ...secretKeys.map(({ key, text }) => `  ${key}.txt: ${text}`),
        ]
      : []),
  ].join('\n')
}

function objectYaml(object: ImportedObject, { stop, program }: Imported): string {
  const document = new Document(object, options)
  const spec = document.get('spec')
  for (const pair of isMap(spec) ? spec.items : [])
    for (const [key, text] of [
      [
        'max',
        stop &&
          `No node is let out before somebody has looked at: ${stop.settings.join(', ')}. Then write ${stop.max}.`,
      ],
      ['foreignLocks', `Only during the roll-over: delete this once ${program} is gone.`],
    ] as const)
      if (text !== undefined) commentOn(pair, key, text)
  return document.toString(options)
}

function commentOn(pair: Pair, key: string, text: string): void {
  const name = pair.key as { readonly value?: unknown; commentBefore?: string }
  if (name.value === key) name.commentBefore = ` ${text}`
}

function valuesOf(imported: Imported): string {
  return `Values for Fettle's chart; with -o values they are printed alone:\n${importValues(imported)}`
}

function commented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `# ${line}\n`)
    .join('')
}

/** What became of each setting, for a person to read. */
export function importTable({ findings, stop }: Imported): string {
  const rows = findings.map((finding) => [
    finding.setting,
    finding.place ? placeText(finding.place) : '-',
    outcomeText(finding),
  ])
  const all = [['SETTING', 'WHERE', 'WHAT BECOMES OF IT'], ...rows]
  const width = (column: number) => Math.max(...all.map((row) => row[column]?.length ?? 0))
  const [first, second] = [width(0), width(1)]
  const lines = all.map(
    ([setting = '', where = '', text = '']) => `${setting.padEnd(first)}  ${where.padEnd(second)}  ${text}\n`,
  )
  const end = stop
    ? `spec.max is 0, so that no node leaves before the refused settings were looked at; then write ${stop.max}\n`
    : ''
  return `${lines.join('')}${end}`
}

function outcomeText({ outcome, text }: Finding): string {
  return outcome === 'carried over' ? text : `${outcome}: ${text}`
}
