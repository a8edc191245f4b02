import { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { CliContext } from './context.ts'

/** A program without commands, that speaks and ends as its context says. */
export function bareProgram(context: CliContext): Command {
  return new Command('fettle')
    .version(manifest.version)
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
}
