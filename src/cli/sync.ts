import type { Command } from 'commander'
import { bareProgram } from './bare-program.ts'
import type { CliContext } from './context.ts'
import { addSyncExportCommands } from './sync-export.ts'
import { addSyncLookCommands } from './sync-look.ts'
import { addSyncPlanCommands } from './sync-plan.ts'
import { addSyncRunCommands } from './sync-run.ts'
import { addSyncVerbCommands } from './sync-verbs.ts'

/** `fettle sync` alone: it starts in half the time of all commands together. */
export function createSyncProgram(context: CliContext): Command {
  const program = bareProgram(context)
  addSyncCommands(program, context)
  return program
}

/** `fettle sync`: a git branch is the whole truth of namespaces, with nothing installed in the cluster. */
export function addSyncCommands(program: Command, context: CliContext): void {
  const sync = program
    .command('sync')
    .description('make namespaces equal to what a git branch declares, deletion included')
  addSyncPlanCommands(sync, context)
  addSyncRunCommands(sync, context)
  addSyncLookCommands(sync, context)
  addSyncVerbCommands(sync, context)
  addSyncExportCommands(sync, context)
}
