import type { Command } from 'commander'
import { type AgentSettings, addAgentCommand } from './agent.ts'
import { bareProgram } from './bare-program.ts'
import type { CliContext } from './context.ts'
import { addControllerCommand, type ControllerSettings } from './controller.ts'
import { addDemoCommand } from './demo/demo.ts'
import { addDevCommands } from './dev.ts'
import { addExplainCommand } from './explain.ts'
import { addFreezeCommands } from './freeze.ts'
import { addHostCommands } from './host.ts'
import { addImportCommands } from './import.ts'
import { addInstallCommands } from './install.ts'
import { addLockCommands } from './lock.ts'
import { addNodeCommands } from './node.ts'
import { addProfilesCommands } from './profiles.ts'
import { addQueueCommand } from './queue.ts'
import { addStatusCommand } from './status.ts'
import { addSyncCommands } from './sync.ts'
import { addVersionCommand } from './version.ts'
import { addWindowsCommands } from './windows.ts'

/** What `fettle controller` and `fettle agent` start; composed in main. */
export interface Programs {
  readonly controller: (settings: ControllerSettings, signal: AbortSignal) => Promise<void>
  readonly agent: (settings: AgentSettings, signal: AbortSignal) => Promise<void>
}

export function createProgram(context: CliContext, programs: Programs): Command {
  const program = bareProgram(context)
    .description('Keeps Kubernetes clusters, and the machines under them, in the state you declared.')
    .showHelpAfterError('(--help shows what can be said)')
  addDevCommands(program, context)
  addDemoCommand(program, context)
  addStatusCommand(program, context)
  addQueueCommand(program, context)
  addExplainCommand(program, context)
  addNodeCommands(program, context)
  addLockCommands(program, context)
  addWindowsCommands(program, context)
  addFreezeCommands(program, context)
  addProfilesCommands(program, context)
  addSyncCommands(program, context)
  addImportCommands(program, context)
  addHostCommands(program, context)
  addInstallCommands(program, context)
  addControllerCommand(program, context, programs.controller)
  addAgentCommand(program, context, programs.agent)
  addVersionCommand(program, context)
  return program
}
