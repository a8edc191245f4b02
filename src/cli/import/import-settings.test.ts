import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acceptedObjects } from './fixture-schemas.ts'
import { importSettings } from './import-settings.ts'
import { kured } from './kured.ts'
import { kustodian } from './kustodian.ts'
import { importJson, importTable, importValues, importYaml } from './print.ts'

const folder = resolve(import.meta.dirname, '../../../test/fixtures/import')

function importFile(file: string) {
  const program = file.startsWith('kured') ? kured : kustodian
  return importSettings(program, [{ file, text: readFileSync(join(folder, file), 'utf8') }])
}

const values = (text: string) => importSettings(kured, [{ file: 'values.yaml', text }])
const configured = (text: string) => values(`configuration:\n${text.replaceAll(/^/gm, '  ')}`)

/** A DaemonSet with these arguments, and these lines below its container. */
const daemonSet = (args: readonly string[], more = '') => `
kind: DaemonSet
spec:
  template:
    spec:
      containers:
        - image: registry.example/kured:1
          args: ${JSON.stringify(args)}
${more.replaceAll(/^/gm, '          ')}
`
const started = (args: readonly string[], more = '') =>
  importSettings(kured, [{ file: 'ds.yaml', text: daemonSet(args, more) }])

const budgetOf = (imported: ReturnType<typeof values>) => acceptedObjects(imported).budget
const outcomesOf = ({ findings }: ReturnType<typeof values>) =>
  findings.flatMap(({ setting, place, outcome }) => (place ? [`${setting} ${outcome}`] : []))

describe('what people have', () => {
  test.each(['kured-daemon-set', 'kured-values', 'kustodian-daemon-set', 'kustodian-values'])(
    '%s becomes what the golden files say, and the API takes it',
    async (name) => {
      const imported = importFile(`${name}.yaml`)
      acceptedObjects(imported)
      await expect(importYaml(imported)).toMatchFileSnapshot(join(folder, `${name}.expected.yaml`))
      await expect(importTable(imported)).toMatchFileSnapshot(join(folder, `${name}.expected.txt`))
    },
  )

  test('JSON is read as well, since it is YAML', () => {
    const text = JSON.stringify({ configuration: { concurrency: 3 } })
    expect(budgetOf(values(text))).toMatchObject({ max: 3 })
  })

  test('values of an umbrella chart stand below the name of the chart', () => {
    const imported = values('other: {a: 1}\nkured: {configuration: {concurrency: 3}}')
    expect(budgetOf(imported)).toMatchObject({ max: 3 })
    expect(outcomesOf(imported)).toEqual(['other not needed', 'kured.configuration.concurrency differs'])
  })
})

describe('which setting counts', () => {
  test('the environment before arguments, and later files of values before earlier ones', () => {
    const imported = importSettings(kured, [
      { file: 'a.yaml', text: 'configuration: {concurrency: 2, drainTimeout: 1h, rebootDays: [mon]}' },
      { file: 'b.yaml', text: 'configuration: {concurrency: 3, rebootDays: []}\nextraArgs: {concurrency: 4}' },
      { file: 'c.yaml', text: 'extraEnvVars: [{name: KURED_DRAIN_TIMEOUT, value: 2h}]' },
    ])
    expect(budgetOf(imported)).toMatchObject({ max: 4, defaults: { drain: { deadline: '2h' } } })
    expect(imported.objects).toHaveLength(1)
    expect(outcomesOf(imported)).toEqual([
      'configuration.concurrency not needed',
      'configuration.drainTimeout not needed',
      'configuration.rebootDays not needed',
      'configuration.concurrency not needed',
      'configuration.rebootDays not needed',
      'extraArgs.concurrency differs',
      'KURED_DRAIN_TIMEOUT carried over',
    ])
  })

  test('lists add up, with those of the environment too', () => {
    const imported = started(
      ['--reboot-days=mon,tue', '--reboot-days=wed'],
      'env: [{name: KURED_REBOOT_DAYS, value: sun}]',
    )
    expect(imported.objects[0]?.spec).toMatchObject({ schedule: { weekly: { days: ['Sun', 'Mon', 'Tue', 'Wed'] } } })
  })

  test('what a chart takes for empty leaves the default in force, but not if it is in quotes', () => {
    expect(budgetOf(configured('drainGracePeriod: 0'))).not.toHaveProperty('defaults')
    expect(budgetOf(configured('drainGracePeriod: "0"'))).toMatchObject({
      defaults: { drain: { gracePeriodMax: '0s' } },
    })
  })

  test('arguments name variables of the container, and two dollar signs do not', () => {
    const more = 'env: [{name: HOW, value: 1h}, {name: KEPT, valueFrom: {configMapKeyRef: {name: c, key: k}}}]'
    const imported = started(
      ['--lock-release-delay=$(HOW)', '--reboot-command=$$(HOW)', '--drain-timeout=$(KEPT)'],
      more,
    )
    expect(budgetOf(imported)).toMatchObject({ max: 0, timing: { soak: '1h' } })
    expect(imported.values.agent.reboot).toMatchObject({ command: '$(HOW)' })
    expect(imported.findings.find(({ setting }) => setting === '--drain-timeout')).toMatchObject({
      outcome: 'refused',
      text: 'its value is in ConfigMap c, key k, which is not read; write it here and try again',
    })
  })
})

describe('what has no counterpart', () => {
  test.each([
    [['--new-flag=c4nary']],
    [['--drain-pod-selector=app']],
    [['--reboot-days=']],
    [['--reboot-days=someday']],
    [['--start-time=noon', '--end-time=13:00']],
    [['--time-zone=Local', '--start-time=3']],
    [['--start-time=03:00', '--end-time=03:00']],
    [['--prometheus-url=http://me:c4nary@prometheus']],
    [['--blocking-pod-selector=size>5']],
    [['--concurrency=many']],
    [['--drain-timeout=300']],
    [['--reboot-sentinel=reboot-required']],
    [['--reboot-method=kexec']],
  ])('%j lets no node out before somebody has looked', (args) => {
    const imported = started(args)
    expect(budgetOf(imported)).toMatchObject({ max: 0 })
    expect(imported.stop?.max).toBe(1)
    expect(importTable(imported)).toMatch(/refused: .*(write|look|mend|keep)/)
    expect(importYaml(imported) + importTable(imported)).not.toContain('c4nary')
  })

  test.each([
    [['--notify-url=discord://c4nary@1']],
    [['--prefer-no-schedule-taint=no key']],
    [['--pre-reboot-node-labels=maintenance']],
    [['--notify-url=slack://a/b/c', '--message-template-drain=bye']],
  ])('%j is refused, and no reason to stop', (args) => {
    const imported = started(args)
    expect(imported.findings.map(({ outcome }) => outcome)).toContain('refused')
    expect(budgetOf(imported)).toMatchObject({ max: 1 })
  })

  test.each([
    ['affinity: {nodeAffinity: {}}\nconfiguration: {}', 'affinity'],
    ['configuration: {cooldown: 1h}', 'configuration.cooldown'],
    ['configuration: {period: [1h]}', 'configuration.period'],
    ['configuration: {}\nconfigurations: {}', 'configurations'],
    ['extraArgs: {cooldown: 1h}', 'extraArgs.cooldown'],
    ['extraEnvVars: [{name: KURED_COOLDOWN, value: 1h}]', 'KURED_COOLDOWN'],
    ['configuration: {}\n---\nkind: HelmRelease\nmetadata: {name: kured}', 'HelmRelease kured'],
    [daemonSet([], 'envFrom: [{secretRef: {name: kured}}]'), 'envFrom'],
    [daemonSet([], 'command: [sh, -c, kured --period=1h]'), 'command'],
  ])('in values and manifests it is named: %j', (text, setting) => {
    expect(values(text).stop?.settings).toEqual([setting])
  })
})

describe('what cannot be read', () => {
  test.each([
    ['a: [c4nary', /^values.yaml:1: it is not YAML: .*; write Helm values, or manifests/],
    ['a: 1\na: 2', /^values.yaml:2: it is not YAML: Map keys must be unique/],
    ['a: &x [*x]\nconfiguration: {}', /^values.yaml:1: aliases unfold it beyond all measure/],
    ['replicas: 3', /^values.yaml:1: it is neither an object of Kubernetes nor values of the chart of kured; give/],
    ['just a text', /^values.yaml:1: it is neither/],
    ['kind: DaemonSet\nmetadata: {name: x}', /^values.yaml: nothing of kured is in there; give/],
    ['', /^values.yaml: nothing of kured is in there/],
    [`${daemonSet([])}---${daemonSet([])}`, /^values.yaml:11: a DaemonSet of kured is at values.yaml:2 already/],
  ])('%j says file, line, and what to give instead', (text, message) => {
    expect(() => values(text)).toThrow(message)
    expect(() => values(text)).not.toThrow('c4nary')
  })
})

test('a sentinel in a manifest is where the host has it, by the deepest mount', () => {
  const text = daemonSet(
    ['--reboot-sentinel=/sentinel/deep/needed'],
    'volumeMounts: [{name: a, mountPath: /sentinel}, {name: b, mountPath: /sentinel/deep/}]',
  ).replace(
    'containers:',
    'volumes: [{name: a, hostPath: {path: /a}}, {name: b, hostPath: {path: /run/}}]\n      containers:',
  )
  expect(importSettings(kured, [{ file: 'ds.yaml', text }]).values.agent.reboot?.files).toEqual(['/run/needed'])
})

test('no output shows a secret', () => {
  const text = `
configuration:
  slackHookUrl: https://hooks.example/services/T0/B0/c4nary
  prometheusUrl: http://user:c4nary@prometheus
extraEnvVars:
  - {name: KURED_NOTIFY_URL, value: "smtp://u:c4nary@mail.example/?from=a@example.com&to=b@example.com"}
  - {name: PASSWORD, value: c4nary}
`
  const imported = values(text)
  for (const print of [importYaml, importValues, importJson, importTable])
    expect(print(imported)).not.toContain('c4nary')
  expect(imported.secretKeys).toEqual([
    { key: 'mail-password', text: 'the password that is in KURED_NOTIFY_URL (values.yaml:6)' },
  ])
})
