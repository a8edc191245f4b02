import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { addProfilesCheckCommand } from './profiles-check.ts'
import { addProfilesExplainCommand } from './profiles-explain.ts'
import { addProfilesStatusCommand } from './profiles-status.ts'
import { addProfilesVerbCommands } from './profiles-verbs.ts'

/** `fettle profiles`: the profiles of a maintenance.yaml, and the nodes that have them. */
export function addProfilesCommands(program: Command, context: CliContext): void {
  const profiles = program.command('profiles').description('maintenance profiles: the file of them, and what they do')
  addProfilesCheckCommand(profiles, context)
  addProfilesStatusCommand(profiles, context)
  addProfilesExplainCommand(profiles, context)
  addProfilesVerbCommands(profiles, context)
}
