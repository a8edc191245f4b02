import { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { CliContext } from './context.ts'
import { addProgramCommands, type Programs } from './controller.ts'
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
import { addWindowsCommands } from './windows.ts'

export function createProgram(context: CliContext, programs: Programs): Command {
  const program = new Command('fettle')
    .description('Keeps Kubernetes clusters, and the machines under them, in the state you declared.')
    .version(manifest.version)
    .showHelpAfterError('(--help shows what can be said)')
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
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
  addImportCommands(program, context)
  addHostCommands(program, context)
  addInstallCommands(program, context)
  addProgramCommands(program, context, programs)
  return program
}
