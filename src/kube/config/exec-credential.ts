import type { Clock } from '../../time/index.ts'
import { ConfigError } from '../errors.ts'
import { isRecord } from '../request/status.ts'
import type { Credential, Credentials } from './config.ts'
import { type CommandResult, runCommand } from './exec-command.ts'
import { Secret } from './secret.ts'

/** A credential plugin as the kubeconfig describes it. */
export interface ExecPlugin {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint?: string
  /** What the plugin may know about the cluster, if provideClusterInfo is set. */
  readonly cluster?: object
  /** Whether the plugin may talk to the person at the terminal. */
  readonly isInteractive: boolean
  /** For messages: the kubeconfig and the user entry. */
  readonly origin: string
}

const deadlineMs = 60_000
const interactiveDeadlineMs = 300_000
// A credential about to expire would be refused by the time it arrives.
const expirySlackMs = 10_000

/** Runs the plugin when a credential is needed, and keeps the result until it expires or is refused. */
export function execCredentials(
  plugin: ExecPlugin,
  clock: Clock,
  baseEnv: NodeJS.ProcessEnv = process.env,
): Credentials {
  let known: { readonly credential: Credential; readonly expiresAt: number } | undefined
  let running: Promise<Credential> | undefined
  const run = async (): Promise<Credential> => {
    const info = {
      apiVersion: plugin.apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: plugin.isInteractive, ...(plugin.cluster ? { cluster: plugin.cluster } : {}) },
    }
    const result = await runCommand({
      command: plugin.command,
      args: plugin.args,
      env: { ...baseEnv, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      isInteractive: plugin.isInteractive,
      deadlineMs: plugin.isInteractive ? interactiveDeadlineMs : deadlineMs,
    })
    known = readExecCredential(plugin, result)
    return known.credential
  }
  return {
    current: () => {
      if (known && clock.now() < known.expiresAt - expirySlackMs) return Promise.resolve(known.credential)
      // One run for all who wait: plugins may open browsers. It goes on even if one of them stops waiting.
      running ??= run().finally(() => {
        running = undefined
      })
      return running
    },
    refresh: (refused) => {
      // Of many calls refused at once the first has renewed it; the others come late and must not run the plugin again.
      if (!known || !refused || isPartOf(known.credential, refused)) known = undefined
      return true
    },
  }
}

/** Whether this credential is what was refused, alone or together with another such as a certificate in files. */
function isPartOf({ token, certificate }: Credential, refused: Credential): boolean {
  return token === undefined ? certificate === refused.certificate : token === refused.token
}

/** What a plugin printed, as a credential. Its output is never quoted: it is the credential. */
export function readExecCredential(
  plugin: ExecPlugin,
  result: CommandResult,
): { readonly credential: Credential; readonly expiresAt: number } {
  if (result.outcome !== 'exited' || result.exitCode !== 0) throw failed(plugin, describe(result))
  const output = parse(result.stdout)
  if (!isRecord(output) || output['kind'] !== 'ExecCredential') {
    throw failed(plugin, 'its output is not an ExecCredential object in JSON')
  }
  if (output['apiVersion'] !== plugin.apiVersion) {
    throw failed(
      plugin,
      `it answered in ${JSON.stringify(output['apiVersion'])}, but the kubeconfig asks for ${plugin.apiVersion}`,
    )
  }
  const status = output['status']
  if (!isRecord(status)) throw failed(plugin, 'its output has no status')
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  const hasPair = typeof cert === 'string' && typeof key === 'string'
  if (!hasPair && (cert !== undefined || key !== undefined)) {
    throw failed(plugin, 'it gave only one of clientCertificateData and clientKeyData')
  }
  if (typeof token !== 'string' && !hasPair) throw failed(plugin, 'it gave neither a token nor a client certificate')
  const expiresAt = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY
  if (Number.isNaN(expiresAt)) throw failed(plugin, 'its expirationTimestamp is not a time in RFC 3339')
  return {
    credential: {
      ...(typeof token === 'string' ? { token: new Secret(token) } : {}),
      ...(hasPair ? { certificate: { cert, key: new Secret(key) } } : {}),
    },
    expiresAt,
  }
}

function describe(result: CommandResult): string {
  const said = result.stderrTail === '' ? '' : `; it said: ${result.stderrTail}`
  switch (result.outcome) {
    case 'missing':
      return 'the command was not found'
    case 'unstartable':
      return `the command could not be started: ${result.reason}`
    case 'late':
      return `it did not finish within ${result.deadlineMs / 1000} s${said}`
    case 'flooded':
      return 'it printed more than any credential can be'
    case 'exited':
      return `it ended with exit code ${result.exitCode}${said}`
  }
}

function failed(plugin: ExecPlugin, seen: string): ConfigError {
  const hint = plugin.installHint ? ` Install hint from the kubeconfig: ${plugin.installHint.trim()}` : ''
  return new ConfigError(
    'ExecPluginFailed',
    `credential plugin "${plugin.command}" of ${plugin.origin} failed: ${seen}.${hint}`,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
