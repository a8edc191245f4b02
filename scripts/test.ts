import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  | { readonly name: string; readonly group: 'unit' | 'e2e'; readonly project: string }

const stages: readonly Stage[] = [
  { name: 'types', group: 'checks', argv: ['tsc', '--noEmit', '-p', '.'] },
  { name: 'format and lint', group: 'checks', argv: ['biome', 'ci', '.'] },
  { name: 'typed lint', group: 'checks', argv: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'generated files are current', group: 'checks', argv: ['tsx', 'scripts/generate.ts', '--check'] },
  { name: 'dead code', group: 'checks', argv: ['knip'] },
  { name: 'unit and property tests', group: 'unit', project: 'unit' },
  { name: 'end to end on a real control plane', group: 'e2e', project: 'e2e' },
]

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined
const tally: Tally = { passed: 0, failed: 0, skipped: [], failures: [] }
const startedAt = Date.now()

for (const stage of stages) {
  if (only && stage.group !== only) continue
  if (stage.group === 'e2e') await installPackages()
  console.log(`\n== ${stage.name} (${seconds()} s since start)`)
  if (stage.group === 'checks') await runCheck(stage.name, stage.argv)
  else await runVitest(stage.name, stage.project)
}

console.log(`\nThe whole line took ${seconds()} s.`)
for (const name of tally.skipped) console.log(`skipped: ${name}`)
for (const name of tally.failures) console.log(`failed: ${name}`)
const skipped = tally.skipped.length > 0 ? `, ${tally.skipped.length} skipped` : ''
console.log(`${tally.passed} passed, ${tally.failed} failed${skipped}`)
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

async function runVitest(name: string, project: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fettle-test-'))
  const file = join(folder, 'report.json')
  try {
    const code = await execute([
      'vitest',
      'run',
      '--project',
      project,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
    ])
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

async function execute([command = '', ...args]: readonly string[]): Promise<number> {
  const child = spawn(join('node_modules', '.bin', command), args, { stdio: ['ignore', 'inherit', 'inherit'] })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}
