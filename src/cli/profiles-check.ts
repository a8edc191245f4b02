import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { type ConfigProblem, loadConfig, plugins, problemText } from '../profiles/index.ts'
import { type CliContext, CliFault } from './context.ts'

interface CheckFlags {
  readonly output: 'text' | 'json'
  readonly strict: boolean
  readonly env: boolean
}

export interface CheckedProfiles {
  readonly file: string
  readonly ok: boolean
  readonly problems: readonly ConfigProblem[]
  readonly profiles: readonly string[]
}

export function addProfilesCheckCommand(profiles: Command, context: CliContext): void {
  profiles
    .command('check')
    .description(
      'read a maintenance.yaml as the controller does, without a cluster; exit code 1 when it could not be put in force, 2 when it cannot be read',
    )
    .argument('<file>')
    .option('--strict', 'warnings count as errors', false)
    .option('--no-env', 'do not look at the environment: what its variables stand for is left out of the check')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(async (file: string, flags: CheckFlags) => {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        context.exitCode(2)
        throw new CliFault(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      })
      const checked = checkProfiles(file, text, flags.env ? process.env : undefined, flags.strict)
      context.out(flags.output === 'json' ? `${JSON.stringify(checked, null, 2)}\n` : checkedText(checked))
      if (!checked.ok) context.exitCode(1)
    })
}

/** Without an environment, what it would give is not looked at. */
export function checkProfiles(
  file: string,
  text: string,
  env: Readonly<Record<string, string | undefined>> | undefined,
  isStrict: boolean,
): CheckedProfiles {
  const { problems, profileNames } = loadConfig(text, { env: env ?? {}, plugins, allowsUnset: env === undefined })
  const ok = !problems.some(({ severity }) => isStrict || severity === 'error')
  return { file, ok, problems, profiles: profileNames }
}

export function checkedText({ file, problems, profiles }: CheckedProfiles): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const counts = [
    counted(errors, 'error'),
    counted(problems.length - errors, 'warning'),
    `${counted(profiles.length, 'profile')}${profiles.length > 0 ? `: ${profiles.join(', ')}` : ''}`,
  ]
  return [...problems.map((problem) => problemText(file, problem)), `${file}: ${counts.join(', ')}`, ''].join('\n')
}

function counted(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`
}
