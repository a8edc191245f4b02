import { dirname, resolve } from 'node:path'
import type { Clock } from '../../time/index.ts'
import { isRecord } from '../request/status.ts'
import type { Credentials, Impersonation, TextSource, TlsSettings } from './config.ts'
import { anonymous, certificatePair, combined, fixedCredential, tokenFile } from './credentials.ts'
import { type ExecPlugin, execCredentials } from './exec-credential.ts'
import { type Entry, entryError, readBoolean, readString, readStrings } from './kubeconfig-file.ts'
import { Secret } from './secret.ts'
import { inlineText, rotatingFile } from './text-source.ts'

export interface UserSurroundings {
  readonly cluster: Entry
  readonly server: string
  readonly clock: Clock
  readonly env: NodeJS.ProcessEnv
  readonly isInteractive: boolean
}

/** A cluster entry: where the server is and how to know that it is the right one. */
export function clusterSettings(cluster: Entry, clock: Clock): { readonly server: string; readonly tls: TlsSettings } {
  const server = readString(cluster, 'server')
  if (server === undefined) throw entryError(cluster, 'it has no server; write server: https://host:port')
  if (!/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw entryError(cluster, `server "${server}" is not a URL; write https://host:port`, 'server')
  }
  if (readString(cluster, 'proxy-url') !== undefined) {
    const advice = 'proxy-url is not supported; run where the server can be reached, or forward a port to it'
    throw entryError(cluster, advice, 'proxy-url', 'UnsupportedConfig')
  }
  const ca = textOf(cluster, 'certificate-authority', 'certificate authority', clock)
  const serverName = readString(cluster, 'tls-server-name')
  const insecureSkipVerify = readBoolean(cluster, 'insecure-skip-tls-verify')
  if (insecureSkipVerify && ca) {
    throw entryError(
      cluster,
      'insecure-skip-tls-verify contradicts certificate-authority; remove one',
      'insecure-skip-tls-verify',
    )
  }
  return {
    server,
    tls: {
      ...(ca ? { ca } : {}),
      ...(serverName === undefined ? {} : { serverName }),
      ...(insecureSkipVerify ? { insecureSkipVerify } : {}),
    },
  }
}

/** A user entry. tokenFile wins over token, as in kubectl; a certificate may come on top of either. */
export function userCredentials(user: Entry | undefined, around: UserSurroundings): Credentials {
  if (!user) return anonymous
  if (user.body['auth-provider']) {
    const advice = 'auth-provider was removed from Kubernetes; write an exec plugin instead'
    throw entryError(user, advice, 'auth-provider', 'UnsupportedConfig')
  }
  const parts: Credentials[] = []
  const cert = textOf(user, 'client-certificate', 'client certificate', around.clock)
  const key = textOf(user, 'client-key', 'client key', around.clock)
  if (cert && key) parts.push(certificatePair(cert, key))
  else if (cert || key) {
    throw entryError(
      user,
      `client-certificate and client-key need each other; write the missing ${cert ? 'client-key' : 'client-certificate'}`,
    )
  }
  const file = readString(user, 'tokenFile')
  const token = readString(user, 'token')
  const username = readString(user, 'username')
  if (file !== undefined) parts.push(tokenFile(rotatingFile(resolveBeside(user, file), 'token file', around.clock)))
  else if (token !== undefined) parts.push(fixedCredential({ token: new Secret(token) }))
  else if (username !== undefined) {
    const password = new Secret(readString(user, 'password') ?? '')
    parts.push(fixedCredential({ basic: { username, password } }))
  }
  // A token of its own makes the plugin superfluous, and kubectl does not use it either.
  else if (user.body['exec']) parts.push(execCredentials(readExec(user, around), around.clock, around.env))
  return parts.length === 0 ? anonymous : combined(parts)
}

export function impersonationOf(user: Entry): Impersonation | undefined {
  const name = readString(user, 'as')
  const uid = readString(user, 'as-uid')
  const groups = readStrings(user, 'as-groups')
  const extra = user.body['as-user-extra']
  if (name === undefined) {
    if (uid !== undefined || groups.length > 0 || extra)
      throw entryError(user, 'as-uid, as-groups and as-user-extra need as; write as: and the user name')
    return undefined
  }
  return {
    user: name,
    ...(uid === undefined ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(isRecord(extra) ? { extra: readExtra(user, extra) } : {}),
  }
}

function readExtra(user: Entry, extra: Readonly<Record<string, unknown>>): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = {}
  for (const [key, value] of Object.entries(extra)) {
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw entryError(user, `as-user-extra.${key} must be a list of strings`, 'as-user-extra')
    }
    result[key] = value as string[]
  }
  return result
}

function readExec(user: Entry, around: UserSurroundings): ExecPlugin {
  const exec = user.body['exec']
  if (!isRecord(exec)) throw entryError(user, 'exec must be a mapping with apiVersion and command', 'exec')
  const inner: Entry = {
    file: user.file,
    title: `${user.title}: exec`,
    body: exec,
    line: (...keys) => user.line('exec', ...keys) ?? user.line('exec'),
  }
  const apiVersion = readString(inner, 'apiVersion')
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    throw entryError(inner, `apiVersion is "${apiVersion ?? ''}"; write client.authentication.k8s.io/v1`, 'apiVersion')
  }
  const command = readString(inner, 'command')
  if (command === undefined) throw entryError(inner, 'it has no command; write the program to run')
  const mode = readString(inner, 'interactiveMode') ?? 'IfAvailable'
  if (mode === 'Always' && !around.isInteractive) {
    throw entryError(
      inner,
      'the plugin wants a terminal (interactiveMode: Always) and there is none here',
      'interactiveMode',
      'UnsupportedConfig',
    )
  }
  const installHint = readString(inner, 'installHint')
  return {
    apiVersion,
    // A bare name is looked up in PATH; anything with a slash is a path from the kubeconfig's folder.
    command: command.includes('/') ? resolveBeside(user, command) : command,
    args: readStrings(inner, 'args'),
    env: readEnv(inner),
    ...(installHint === undefined ? {} : { installHint }),
    ...(readBoolean(inner, 'provideClusterInfo') ? { cluster: clusterInfo(around) } : {}),
    isInteractive: around.isInteractive && mode !== 'Never',
    origin: `${user.title} in ${user.file}`,
  }
}

function readEnv(exec: Entry): Record<string, string> {
  const env: Record<string, string> = {}
  const list = exec.body['env'] ?? []
  if (!Array.isArray(list)) throw entryError(exec, 'env must be a list of {name, value}', 'env')
  for (const item of list as unknown[]) {
    if (!isRecord(item) || typeof item['name'] !== 'string' || typeof item['value'] !== 'string') {
      throw entryError(exec, 'env must be a list of {name, value}, both strings', 'env')
    }
    env[item['name']] = item['value']
  }
  return env
}

function clusterInfo(around: UserSurroundings): object {
  const { body } = around.cluster
  const extensions = Array.isArray(body['extensions']) ? (body['extensions'] as unknown[]).filter(isRecord) : []
  const own = extensions.find((one) => one['name'] === 'client.authentication.k8s.io/exec')
  return {
    server: around.server,
    ...pick(body, 'tls-server-name', 'insecure-skip-tls-verify', 'certificate-authority-data'),
    ...(own ? { config: own['extension'] } : {}),
  }
}

function pick(body: Readonly<Record<string, unknown>>, ...keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => body[key] !== undefined).map((key) => [key, body[key]]))
}

/** `key-data` holds base64 and wins over `key`, which names a file. */
function textOf(entry: Entry, key: string, what: string, clock: Clock): TextSource | undefined {
  const data = readString(entry, `${key}-data`)
  if (data !== undefined) {
    const text = Buffer.from(data, 'base64').toString('utf8')
    if (!text.includes('-----BEGIN')) {
      throw entryError(entry, `${key}-data is not base64 of a PEM text; encode the file with base64 -w0`, `${key}-data`)
    }
    return inlineText(text)
  }
  const file = readString(entry, key)
  return file === undefined ? undefined : rotatingFile(resolveBeside(entry, file), what, clock)
}

/** Relative paths inside a kubeconfig start at the folder of that file. */
function resolveBeside(entry: Entry, path: string): string {
  return resolve(dirname(entry.file), path)
}
