import { type Command, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { CliContext } from './context.ts'

export interface Versions {
  readonly fettle: string
  readonly node: string
  /** Of the rules of time zones that windows are computed with; a Node that reads those of the system does not tell. */
  readonly timeZoneData: string
}

export function versionsOf({ node, tz }: { readonly node: string; readonly tz?: string }): Versions {
  return { fettle: manifest.version, node, timeZoneData: tz ?? 'unknown' }
}

export function versionText({ fettle, node, timeZoneData }: Versions): string {
  return [
    ['Fettle', fettle],
    ['Node', node],
    ['time zone data', timeZoneData],
  ]
    .map(([what = '', version]) => `${what.padEnd(14)}  ${version}\n`)
    .join('')
}

export function addVersionCommand(program: Command, context: CliContext): void {
  program
    .command('version')
    .description('show the versions of Fettle, of Node and of the time zone data')
    .addOption(new Option('-o, --output <format>').choices(['text', 'json']).default('text'))
    .action(({ output }: { readonly output: 'text' | 'json' }) => {
      const versions = versionsOf(process.versions)
      context.out(output === 'json' ? `${JSON.stringify(versions, undefined, 2)}\n` : versionText(versions))
    })
}
