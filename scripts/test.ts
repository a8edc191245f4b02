import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { installPackages } from './install-packages.ts'

/** The whole test line: checks that need no cluster first, because they fail fastest. Ends with `N passed, N failed`. */

interface Tally {
  passed: number
  failed: number
  readonly skipped: string[]
  readonly failures: string[]
}

type Stage =
  | { readonly name: string; readonly group: 'checks'; readonly argv: readonly string[] }
  | { readonly name: string; readonly group: 'unit'; readonly project: string }
  | { readonly name: string; readonly group: 'e2e'; readonly project: string; readonly parts: Parts }

/** Which files run side by side, by how their names begin; the longest beginning decides. */
type Parts = Readonly<Record<string, readonly string[]>>

const stages: readonly Stage[] = [
  { name: 'types', group: 'checks', argv: ['tsc', '--noEmit', '-p', '.'] },
  { name: 'format and lint', group: 'checks', argv: ['biome', 'ci', '.'] },
  { name: 'typed lint', group: 'checks', argv: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'generated files are current', group: 'checks', argv: ['tsx', 'scripts/generate.ts', '--check'] },
  { name: 'dead code', group: 'checks', argv: ['knip'] },
  { name: 'unit and property tests', group: 'unit', project: 'unit' },
  {
    name: 'end to end on a real control plane',
    group: 'e2e',
    project: 'e2e',
    // Each part has a control plane of its own, so that breaking one disturbs no other. Three keep two cores busy; with
    // more, what idles takes the time of what works, and leases run out. All that boots machines is in one part.
    parts: {
      kube: [
        'kube-',
        'api-',
        'install-chart',
        'install-image',
        'soak',
        'controller-',
        'fleet-crash',
        'fleet-two-controllers',
        'sync-acceptance-apply',
        'sync-acceptance-modes',
        'sync-acceptance-deletion',
        'sync-story',
      ],
      queue: ['queue-', 'fleet-', 'sync-acceptance-rbac'],
      dev: ['dev-', 'demo', 'package-', 'install-', 'agent-', 'sync-', 'fleet-exclusivity-interrupt'],
    },
  },
]

/** What takes longest, most of it because it boots machines or starts programs: a line runs one of these rows, the next one another. */
const turns = [
  ['agent-real-nodes', 'sync-acceptance-modes'],
  [
    ...['install-real-nodes', 'dev-stop-start', 'sync-acceptance-faults'],
    ...['controller-profile-swap', 'fleet-reboot-wave', 'queue-windows'],
  ],
  [
    ...['dev-real-nodes', 'dev-after-crash', 'dev-side-by-side', 'dev-faults', 'dev-refusals', 'demo'],
    ...['sync-acceptance-rbac', 'controller-profiles'],
  ],
  [
    ...['install-commands', 'install-image', 'dev-interrupt', 'fleet-exclusivity-interrupt'],
    ...['controller-profile-notify', 'queue-verbs-cli', 'queue-notify'],
  ],
  ['agent-real-trouble', 'sync-acceptance-safety', 'controller-process', 'queue-verbs'],
  ['package-tarball', 'package-docs', 'controller-profile-admissions', 'sync-acceptance-apply', 'queue-host'],
].map((names) => names.map((name) => `test/e2e/${name}.test.ts`))

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined
const tally: Tally = { passed: 0, failed: 0, skipped: [], failures: [] }
const startedAt = Date.now()

for (const stage of stages) {
  if (only && stage.group !== only) continue
  if (stage.group === 'unit') await installPackages()
  if (stage.group === 'e2e') await prepare()
  console.log(`\n== ${stage.name} (${seconds()} s since start)`)
  if (stage.group === 'checks') await runCheck(stage.name, stage.argv)
  else if (stage.group === 'unit') await runVitest(stage.name, stage.project, [])
  else await runParts(stage.name, stage.project, stage.parts)
}

console.log(`\nThe whole line took ${seconds()} s.`)
for (const name of tally.skipped) console.log(`skipped: ${name}`)
for (const name of tally.failures) console.log(`failed: ${name}`)
if (tally.skipped.length > 0) console.log(`${tally.skipped.length} skipped, for the reasons above`)
console.log(`${tally.passed} passed, ${tally.failed} failed`)
process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0

function seconds(): number {
  return Math.round((Date.now() - startedAt) / 1000)
}

async function runCheck(name: string, argv: readonly string[]): Promise<void> {
  count(name, (await execute(argv)) === 0)
}

function count(name: string, ok: boolean): void {
  if (ok) tally.passed++
  else {
    tally.failed++
    tally.failures.push(name)
  }
}

interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

async function prepare(): Promise<void> {
  await installPackages()
  console.log(`\n== programs for the tests, built once (${seconds()} s since start)`)
  await runCheck('programs for the tests', ['tsx', 'scripts/prepare-tests.ts'])
}

/** Those that have no turn this time. */
function resting(): readonly string[] {
  const said = process.env['FETTLE_TURN']
  if (said === 'all') return []
  const turn = said === undefined ? Math.floor(Math.random() * turns.length) : Number(said) % turns.length
  console.log(`turn ${turn}: ${turns[turn]?.join(', ')}; repeat with FETTLE_TURN=${turn}, run all with FETTLE_TURN=all`)
  return turns.filter((_, index) => index !== turn).flat()
}

async function runParts(name: string, project: string, parts: Parts): Promise<void> {
  const excluded = resting()
  for (const file of excluded) tally.skipped.push(`${file}: it is the turn of another one`)
  const files = readdirSync('test/e2e').filter((file) => file.endsWith('.test.ts'))
  // A new file that no part knows would silently never run.
  count(
    `${name}: every file belongs to a part`,
    files.every((file) => partOf(file, parts) !== undefined),
  )
  await Promise.all(
    Object.keys(parts).map((part) => {
      const own = files.filter((file) => partOf(file, parts) === part).map((file) => `test/e2e/${file}`)
      return runVitest(
        `${name}, ${part}`,
        project,
        own.filter((file) => !excluded.includes(file)),
        part,
      )
    }),
  )
}

function partOf(file: string, parts: Parts): string | undefined {
  const matches = Object.entries(parts).flatMap(([part, starts]) =>
    starts.filter((start) => file.startsWith(start)).map((start) => ({ part, length: start.length })),
  )
  return matches.sort((one, other) => other.length - one.length)[0]?.part
}

async function runVitest(name: string, project: string, filters: readonly string[], label?: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fettle-test-'))
  const file = join(folder, 'report.json')
  try {
    const code = await execute(
      [
        'vitest',
        'run',
        '--project',
        project,
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${file}`,
        ...filters,
      ],
      label,
    )
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport
    tally.passed += report.numPassedTests
    tally.failed += report.numFailedTests
    for (const result of report.testResults) {
      // A file that cannot even be loaded has no test to count.
      if (result.status === 'failed' && result.assertionResults.every(({ status }) => status !== 'failed'))
        count(result.name, false)
      for (const { fullName, status } of result.assertionResults) {
        if (status === 'failed') tally.failures.push(fullName)
        if (status === 'pending' || status === 'skipped' || status === 'todo') tally.skipped.push(fullName)
      }
    }
    // Set-up and clean-up faults, unhandled rejections: vitest fails without a failed test.
    if (code !== 0 && report.numFailedTests === 0) count(`${name} (vitest exit code ${code})`, false)
  } catch (error) {
    console.log(`no report from vitest: ${String(error)}`)
    count(name, false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs to its end; what it says goes through, line by line under a label if others speak at the same time. */
async function execute([command = '', ...args]: readonly string[], label?: string): Promise<number> {
  const child = spawn(join('node_modules', '.bin', command), args, {
    stdio: ['ignore', label ? 'pipe' : 'inherit', label ? 'pipe' : 'inherit'],
    // Several API servers share two cores here, and memory is there: let them collect garbage a quarter as often.
    env: { GOGC: '400', ...process.env },
  })
  for (const stream of [child.stdout, child.stderr])
    if (stream) createInterface({ input: stream }).on('line', (line) => console.log(`[${label}] ${line}`))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}
