import { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { CliContext } from './context.ts'
import { addDemoCommand } from './demo.ts'
import { addDevCommands } from './dev.ts'

export function createProgram(context: CliContext): Command {
  const program = new Command('fettle')
    .description('Keeps Kubernetes clusters, and the machines under them, in the state you declared.')
    .version(manifest.version)
    .showHelpAfterError('(--help shows what can be said)')
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
  addDevCommands(program, context)
  addDemoCommand(program, context)
  return program
}
