import { type RunResult, run } from '../host/index.ts'

/** Runs commands of the host, as its root. */
export interface HostCommands {
  run(command: string): Promise<RunResult>
}

const deadlineMs = 60_000

/** From a pod: in the namespaces of the host's first process, so that the host's own programs and files are meant. */
export function commandsOfHost(isOwnTree: boolean): HostCommands {
  const enter = isOwnTree ? [] : ['nsenter', '--target', '1', '--mount', '--uts', '--ipc', '--net', '--']
  return {
    run: (command) => run([...enter, '/bin/sh', '-c', command], { deadlineMs, env: { LC_ALL: 'C' } }),
  }
}
