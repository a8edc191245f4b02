import { spawn } from 'node:child_process'
import { type Command, Option } from 'commander'
import { hostScript } from '../host-script/index.ts'
import { type CliContext, CliFault } from './context.ts'

/** `fettle host`: what a script on a host says, by the same text that the agent puts on hosts without Fettle. */
export function addHostCommands(program: Command, context: CliContext): void {
  const host = program
    .command('host')
    .description('for scripts on a host: ask for maintenance, wait for permission, say when it is over; needs root')
  const timeout = () => new Option('--timeout <seconds>', 'give up after this time, with exit code 75')
  const verb = (name: string, description: string) => host.command(name).description(description)
  const runVerb = async (words: readonly string[], flags: HostFlags = {}) =>
    context.exitCode(await runHostScript([...words, ...wordsOf(flags)], context))

  verb('request', 'ask for maintenance of this host; asking again, after a reboot say, changes nothing')
    .argument('<name>', 'of the request: one for each script')
    .option('--reason <text>', 'shown wherever the request is shown')
    .addOption(timeout())
    .action((name: string, flags: HostFlags) => runVerb(['request', name], flags))

  verb('wait', 'wait for permission to work, or for the reboot of this host; exit code 3 when the request is withdrawn')
    .argument('<name>')
    .addOption(new Option('--for <what>', 'ask for a reboot, and wait for that').choices(['reboot']))
    .addOption(timeout())
    .action((name: string, flags: HostFlags) => runVerb(['wait', name], flags))

  verb('done', 'the work is done, or not wanted any more; with the last request the node goes back into service')
    .argument('<name>')
    .addOption(timeout())
    .action((name: string, flags: HostFlags) => runVerb(['done', name], flags))

  verb('fail', 'the work failed: the node stays out of service until a person decides')
    .argument('<name>')
    .argument('<reason>', 'for that person')
    .addOption(timeout())
    .action((name: string, reason: string, flags: HostFlags) => runVerb(['fail', name, reason], flags))

  verb(
    'status',
    'say absent (exit code 3), waiting (75), failed (4), granted (0), or rebooted (0): granted, and the reboot is over',
  )
    .argument('[name]', 'without it all requests are listed')
    .action((name: string | undefined) => runVerb(['status', ...(name === undefined ? [] : [name])]))
}

type HostFlags = Readonly<Partial<Record<'reason' | 'for' | 'timeout', string>>>

function wordsOf(flags: HostFlags): string[] {
  return Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
}

async function runHostScript(words: readonly string[], context: CliContext): Promise<number> {
  const child = spawn('sh', ['-c', hostScript, 'fettle host', ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.setEncoding('utf8').on('data', context.out)
  child.stderr.setEncoding('utf8').on('data', context.err)
  // On Ctrl-C the terminal tells both; a signal to this process alone must not leave the other one behind.
  context.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(new CliFault('sh could not be started; install a POSIX shell', { cause })))
    child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 143)))
  })
}
