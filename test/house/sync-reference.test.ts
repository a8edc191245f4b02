import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { quietProgram } from '../../scripts/generate/cli-reference.ts'
import { planExitCode } from '../../src/cli/sync-plan.ts'
import { applyRulesOf } from '../../src/sync/apply/annotations.ts'
import { isOneShot, knownController } from '../../src/sync/apply/conflicts.ts'
import { replaceRuleOf } from '../../src/sync/apply/replace.ts'
import { carefulDeletion, type Plan } from '../../src/sync/index.ts'
import { foreignMarks } from '../../src/sync/observe/foreign.ts'
import { keepMarkOf } from '../../src/sync/observe/keep-marks.ts'
import type { ProtectionRule } from '../../src/sync/observe/protection-rule.ts'
import { bookRules } from '../../src/sync/observe/rules-books.ts'
import { cautionRules } from '../../src/sync/observe/rules-caution.ts'
import { clusterRules } from '../../src/sync/observe/rules-cluster.ts'
import { peopleRules } from '../../src/sync/observe/rules-people.ts'
import { relationRules } from '../../src/sync/observe/rules-relations.ts'
import { weightOf } from '../../src/sync/plan/budget.ts'

/** The page is written by hand, because half of it are sentences; what it has in common with the code is compared here. */

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const page = read('docs/reference/sync.md')
const sources = ['src/sync', 'src/cli'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^.]+\.ts$/.test(path) && (folder === 'src/sync' || path.startsWith('sync')))
    .map((path) => ({ path: `${folder}/${path}`, text: read(join(folder, path)) })),
)
const source = (path: string) => read(`src/sync/${path}`)

/** The tables below a heading, as cells of rows. */
function tablesOf(heading: string): string[][][] {
  const [, rest = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'))
  const text = rest.split(/^#+ /m)[0] ?? ''
  const tables = text.split('\n\n').map((block) => block.split('\n').filter((line) => line.startsWith('|')))
  return tables
    .filter((lines) => lines.length > 2)
    .map((lines) =>
      lines.slice(2).map((line) =>
        line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
    )
}

function tableOf(heading: string): string[][] {
  const [table] = tablesOf(heading)
  if (!table) throw new Error(`there is no table below ${heading}`)
  return table
}

const words = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)
const firsts = (rows: readonly string[][]) => rows.flatMap(([first = '']) => words(first))
const found = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, word = '']) => word))]
const sorted = (items: Iterable<string>) => [...new Set(items)].sort()
/** Not `toContain`: a failure would show the whole page. */
const saysAny = (...texts: readonly string[]) => texts.some((text) => page.includes(text))

test('tables are found, and a heading that is not there is told', () => {
  expect(tableOf('Halts').length).toBeGreaterThan(5)
  expect(() => tableOf('Nothing')).toThrow('Nothing')
})

describe('flags', () => {
  const sync = quietProgram().commands.find((command) => command.name() === 'sync') as Command
  const optionsOf = (name: string) => sync.commands.find((command) => command.name() === name)?.options ?? []
  const shared = optionsOf('diff').filter(({ long }) => long !== '--kubeconfig' && long !== '--context')

  test('are those of the program', () => {
    expect(shared.length).toBeGreaterThan(20)
    expect(firsts(tableOf('Flags'))).toEqual(shared.map(({ long }) => long))
    const all = new Set(sync.commands.flatMap(({ options }) => options.map(({ long }) => long)))
    expect(found(page, /(--[a-z][a-z-]*)/g).filter((flag) => !all.has(flag))).toEqual([])
  })

  test.each(tableOf('Flags'))('%s has its default', (flag = '', said = '') => {
    const option = shared.find(({ long }) => words(flag).includes(long ?? ''))
    const value = [option?.defaultValue].flat().join('')
    if (option?.defaultValue === false) expect(said).toBe('no')
    else if (value !== '') expect(words(said)).toEqual([value])
    for (const choice of option?.argChoices ?? [])
      expect(saysAny(`\`${choice}\``, `${option?.long} ${choice}\``), choice).toBe(true)
  })

  test('and commands that are named exist', () => {
    const names = sync.commands.map((command) => command.name())
    expect(found(page, /`fettle sync ([a-z]+)/g).filter((name) => !names.includes(name))).toEqual([])
  })
})

describe('marks on objects', () => {
  /** Read off objects only to export them without what others wrote; nothing follows from them. */
  const unsaid = /export-(kinds|objects)\.ts$/
  const isVersion = (text: string) => /\/v\d+$/.test(text)
  const key = /'([a-z0-9-]+(?:\.[a-z0-9-]+)+\/[A-Za-z0-9._-]+)'/g
  // Only read to tell how far a claim is.
  const provisioners = /storage-provisioner$/
  const inCode = sources
    .filter(({ path }) => !unsaid.test(path))
    .flatMap(({ text }) => found(text, key))
    .filter((name) => !isVersion(name) && !provisioners.test(name))

  test('that the code knows are on the page, and the other way round', () => {
    const named = words(page).flatMap((text) => found(`'${text.split(':')[0]}'`, key))
    expect(sorted(inCode.filter((name) => !saysAny(`\`${name}`) && !foreignMarks.has(name)))).toEqual([])
    expect(named.filter((name) => !inCode.includes(name) && name !== 'kapp.k14s.io/change-rule.db')).toEqual([])
  })

  test('that keep an object do so, and there are no others', () => {
    const rows = tableOf('An object stays')
    const others = found(source('observe/keep-marks.ts'), /name: '([^']+)'/g)
    expect(firsts(rows)).toEqual(['fettle.dev/keep', ...others])
    for (const [mark = '', value = ''] of rows) {
      const [name = ''] = words(mark)
      const [word = ''] = words(value)
      const marked = (text: string) => keepMarkOf({ name: 'a', annotations: { [name]: text } })
      if (value.startsWith('anything but')) expect([marked(word), marked('x')]).toEqual([undefined, `${name}: x`])
      else expect([marked(word), marked('x')]).toEqual([`${name}: ${word}`, undefined])
      expect(keepMarkOf({ name: 'a', labels: { [name]: word } }) !== undefined).toBe(value.includes('may be a label'))
    }
  })

  test('in manifests have these words', () => {
    for (const [mark = '', values = ''] of tableOf('Annotations in manifests').slice(0, 2)) {
      const [name = ''] = words(mark)
      const { problems } = applyRulesOf({ metadata: { annotations: { [name]: 'nonsense' } } })
      expect(problems).toEqual([`${name} says "nonsense"; write one of ${words(values).join(', ')}`])
    }
  })

  test('of other programs are these', () => {
    const text = source('observe/foreign.ts')
    const markers = [...text.matchAll(/tool: '([^']+)',\s+on: '(label|annotation)s',\s+name: '([^']+)'/g)]
    expect(markers.length).toBeGreaterThan(8)
    const rows = tableOf('Marks of other programs').filter(([program = '']) => !/NAME|kubectl/.test(program))
    const told = rows.flatMap(([program = '', marks = '']) =>
      words(marks).map(
        (mark) => `${words(program)[0]} ${mark} ${marks.includes(`label \`${mark}`) || marks.startsWith('labels')}`,
      ),
    )
    expect(sorted(told)).toEqual(sorted(markers.map(([, tool, on, name]) => `${tool} ${name} ${on === 'label'}`)))
  })
})

test('rules that protect are told in their order, with whom they are for', () => {
  const rules: readonly ProtectionRule[] = [
    ...peopleRules,
    ...bookRules,
    ...clusterRules,
    ...relationRules,
    ...cautionRules,
  ]
  const [table = [], more = []] = tablesOf('Never deleted')
  expect(table.map(([rule = '', whom]) => [words(rule)[0], whom])).toEqual(
    rules.map(({ rule, isForStrangers }) => [rule, isForStrangers ? 'strangers' : 'all']),
  )
  const plans = ['orphans', 'removals'].map((name) => source(`plan/plan-${name}.ts`)).join('\n')
  const named = [...found(plans, /rule: '([^']+)'/g), ...found(plans, /keep\('([^']+)'/g)]
  expect(sorted(firsts(more))).toEqual(sorted(named))
})

test('halts, verdicts and trailers are those of the code', () => {
  const plans = sources.filter(({ path }) => path.startsWith('src/sync/plan/')).map(({ text }) => text)
  expect(sorted(firsts(tableOf('Halts')))).toEqual(sorted(found(plans.join('\n'), /reason: '([A-Z]\w+)'/g)))
  const verdicts = /VerdictIs = ([^\n]+)/.exec(source('inventory-record.ts'))?.[1] ?? ''
  expect(firsts(tablesOf('What is stored')[1] ?? [])).toEqual(found(verdicts, /'(\w+)'/g))
  const trailers = found(source('plan/budget.ts'), /toLowerCase\(\) === '([^']+)'/g)
  expect(firsts(tableOf('Trailers of commits')).map((name) => name.toLowerCase())).toEqual(trailers)
})

test('layers hold these kinds', () => {
  const [, text = ''] = /const layers[^=]*= \[\n(.*?)\n\]\n/s.exec(source('plan/layers.ts')) ?? []
  const inCode = text
    .split(/\],?\n? {2}\[|^ {2}\[/m)
    .slice(1)
    .map((layer) => found(layer, /'(\w+)\.[^']*'/g))
  const onPage = tableOf('Order').map(([, kinds = '']) => kinds.split(', ').filter((kind) => /^[A-Z]\w+$/.test(kind)))
  expect(onPage).toEqual(inCode)
})

test('kinds with a health of their own are told', () => {
  const onPage = tableOf('Health').flatMap(([kinds = '']) => kinds.split(', '))
  const [, rules = ''] = /const kindRules[^{]*\{\n(.*?)\n\}/s.exec(source('health/health.ts')) ?? []
  expect(sorted(onPage)).toEqual(sorted(found(rules, /^ {2}\[?['`]([*\w]+)\./gm)))
})

describe('conflicts', () => {
  const section = page.split('### Conflicts')[1]?.split('### Budget')[0] ?? ''
  const listed = (start: string) => words(section.split(start)[1]?.split('\n- ')[0]?.split(/\.\s/)[0] ?? '')
  const alternatives = (name: string) =>
    (new RegExp(`const ${name} =\\s+/\\^\\((.*)\\)\\$/`).exec(source('apply/conflicts.ts'))?.[1] ?? '')
      .replaceAll('(-.*)?', '|kubectl-*')
      .replaceAll('.*', '*')
      .split('|')

  test('hands that write once are these', () => {
    expect(sorted(listed('Write once:'))).toEqual(sorted(alternatives('oneShot')))
    for (const name of listed('Write once:')) expect(isOneShot({ manager: name.replace('*', 'x') })).toBe(true)
  })

  test('autoscalers are these', () => {
    const [field = '', ...rest] = listed('Known for')
    expect(field).toBe('spec.replicas')
    const managers = rest.filter((name) => name !== 'kube-controller-manager' && name !== 'scale')
    expect(sorted(managers)).toEqual(sorted(alternatives('autoscalers')))
    for (const name of managers)
      expect(knownController(['f:spec', 'f:replicas'], { manager: name.replace('*', 'x') })).toBe(true)
  })
})

test('the budget is the one that is told', () => {
  const { maxDeletePercent, maxDeletesPerHour, minOrphanAgeMs } = carefulDeletion
  for (const text of [`${maxDeletePercent} % of`, `${maxDeletesPerHour} objects`, `than ${minOrphanAgeMs / 1_000} s`])
    expect(saysAny(text), text).toBe(true)
  const heavy = found(source('plan/budget.ts'), /^ {2}'(\w+)\./gm)
  expect(heavy.length).toBe(4)
  const [sentence = ''] = /A Namespace,[^.]*counts 5/.exec(page) ?? []
  for (const kind of heavy) expect(sentence).toContain(kind)
  expect(weightOf({ group: '', kind: 'Namespace', namespace: '', name: 'a' })).toBe(5)
})

test('what is made anew without a word is told', () => {
  const [, row = ''] = /`fettle\.dev\/replace` \|(.*)/.exec(page) ?? []
  const [, kinds = ''] = /Default `auto` for ([^(]*)/.exec(row) ?? []
  const groups: Readonly<Record<string, string>> = { Job: 'batch', StatefulSet: 'apps' }
  const rule = (kind: string) =>
    replaceRuleOf({ key: { group: groups[kind] ?? '', kind, namespace: 'a', name: 'a' }, body: {} }).when
  expect(
    kinds
      .trim()
      .split(/, | and /)
      .map(rule),
  ).toEqual(['auto', 'auto', 'auto'])
  expect(found(source('apply/replace.ts'), /kind === '(\w+)[^']*'/g)).toHaveLength(3 + 1)
  expect(rule('ConfigMap')).toBe('never')
})

describe('exit codes', () => {
  const [key, uid, since] = [{ group: '', kind: 'ConfigMap', namespace: 'a', name: 'a' }, 'u', '2026-01-01T00:00:00Z']
  const plan = (steps: Plan['steps'], halts: Plan['halts'] = []): Plan => ({
    ...{ steps, halts, hash: '', unchanged: 0, budget: { used: 0, limit: 0 } },
  })
  const wait = { do: 'wait', key, uid, since, why: '' } as const
  const cases: readonly (readonly [number, RegExp, Plan])[] = [
    [0, /nothing to do/, plan([])],
    [0, /may wait for their time/, plan([{ ...wait, waitsFor: 'grace' }])],
    [0, /or for pods/, plan([{ ...wait, waitsFor: 'references' }])],
    [2, /changes are pending/, plan([{ do: 'forget', key, why: '' }])],
    [2, /members are still being deleted/, plan([{ ...wait, waitsFor: 'removal' }])],
    [3, /a halt/, plan([], [{ reason: 'OverBudget', message: '', remedy: '' }])],
    [3, /a conflict/, plan([{ do: 'conflict', key, why: '' }])],
    [3, /waits for a confirmation/, plan([{ ...wait, waitsFor: 'confirmation' }])],
  ]

  test.each(cases)('%i: %s', (code, text, of) => {
    expect(planExitCode(of)).toBe(code)
    expect(tableOf('Exit codes')[code]?.join()).toMatch(text)
  })

  test('of commands that look are those of the code', () => {
    const literal = (path: string) => found(read(path), /exitCode\((\d)\)/g)
    expect([literal('src/cli/sync-look.ts'), literal('src/cli/sync-verbs.ts')]).toEqual([['1'], ['2']])
    for (const text of ['`status`: 1 when', '`verify`: 2 when', 'SIGINT: 130', 'SIGTERM: 143'])
      expect(saysAny(text), text).toBe(true)
  })
})

/** What the page says, and where the code says it. Whoever changes one changes the other. */
test.each([
  [
    '15 s, every 2 s, after 10 s',
    'inventory/sync-lease.ts',
    'leaseDurationMs: 15_000, renewEveryMs: 2_000, renewDeadlineMs: 10_000',
  ],
  ['after | 20 s', 'inventory/sync-lease.ts', 'staleMs = 20_000'],
  ['| 60 s; 10 min |', 'source/mirror.ts', '? 60_000 : 10 * 60_000'],
  ['every 15 s, up to 5 min', 'source/open-source.ts', 'pollMs = 15_000'],
  ['up to 5 min', 'source/origin.ts', 'longestPollMs = 5 * 60_000'],
  ['fails; every 30 s', 'run-sync.ts', 'lookAnywayMs = 30_000'],
  ['after 30 s, later every 10 min', 'try-again.ts', 'firstMs: 30_000, mostMs: 600_000'],
  ['every 10 min; every 24 h', 'run-sync.ts', 'verifyEveryMs = 86_400_000'],
  ['10 s when the plan is made', 'observe/late-kinds.ts', 'servedWithinMs = 10_000'],
  ['30 s when it is applied', 'apply-steps.ts', 'servedWithinMs = 30_000'],
  ['| 30 s |', '../kube/request/client.ts', 'callDeadlineMs = 30_000'],
  ['| 4 times |', 'apply-steps.ts', 'mostAttempts = 4'],
  ['applies; deletions | 32; 32', 'apply-steps.ts', 'mostAtATime = 32'],
  ['applies; deletions | 32; 32', 'prune/layer-prune.ts', 'width = 32'],
  ['| 20,000; 1,572,864 |', 'render/read-manifests.ts', 'mostObjects = 20_000'],
  ['| 20,000; 1,572,864 |', 'render/declare.ts', 'mostBytes = 1_572_864'],
  [
    '20,000; 16 MiB; 64 MiB',
    'source/commit-files.ts',
    'entries: 20_000, bytesPerFile: 16 * 1024 * 1024, bytes: 64 * 1024 * 1024',
  ],
  ['looks again every second, 60 times', 'run-sync.ts', 'mostLooks = 60\nconst lookEveryMs = 1_000'],
  ['200,000 bytes', 'inventory/shards.ts', 'mostShardBytes = 200_000'],
  ['last 100 verdicts', 'record.ts', 'mostVerdicts = 100'],
  ['the last 20.', 'inventory/store.ts', '.slice(-20)'],
  ['beyond 128 characters', 'policy.ts', 'longestManager = 128'],
  ['more than 30 s', 'health/workloads.ts', 'longestReplicaFailureMs = 30_000'],
  ['no image for more than 60 s', 'health/pod.ts', 'longestPullMs = 60_000'],
  ['no node for more than 15 s', 'health/health.ts', 'unschedulableMs ?? 15_000'],
  ['more than 5 members', 'plan/budget.ts', 'fewestOfKind = 5'],
  ['counted as 10 if there are fewer', 'plan/budget.ts', 'smallestSet = 10'],
  ['more than 60 s before', 'plan/budget.ts', 'skewMs = 60_000'],
  ['`fettle-sync-NAME-inv-NUMBER`', 'inventory/inventory-secrets.ts', '-inv-'],
  ['`fettle-sync-NAME-person`', '../cli/sync-verbs.ts', '-person'],
])('%s, as %s says', (said, path, code) => {
  expect(saysAny(said), said).toBe(true)
  expect(source(path).includes(code), code).toBe(true)
})

test('links lead somewhere', () => {
  const anchors = found(page, /^#+ (.*)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
  for (const target of found(page, /\]\(([^)]+)\)/g))
    if (target.startsWith('#')) expect(anchors).toContain(target.slice(1))
    else expect(read(join('docs/reference', target))).not.toBe('')
})
