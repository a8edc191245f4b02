import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SourceFault, withoutUserinfo } from './source-fault.ts'

/** Where a repository is: on this machine, where it is read in place, or elsewhere, where a mirror is kept. */
export type Location =
  | { readonly is: 'local'; readonly path: string }
  | { readonly is: 'remote'; readonly url: string; readonly protocol: 'https' | 'ssh'; readonly shown: string }

const forms = 'Give https://host/path, ssh://user@host/path, user@host:path, file:///path or the path of a folder.'

export function readLocation(url: string): Location {
  if (url === '' || /[\p{Cc}\p{Z}]/u.test(url.replaceAll(' ', '')) || url !== url.trim())
    throw new SourceFault('Refused', `The URL of the repository is empty or holds blanks. ${forms}`)
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase()
  if (scheme === 'file') return localUrl(url)
  if (scheme === 'https' || scheme === 'ssh') return remoteUrl(url, scheme)
  if (scheme === 'http')
    throw new SourceFault('Refused', 'A repository over http can be changed on its way. Give its https:// address.')
  if (scheme !== undefined) throw new SourceFault('Refused', `Repositories are not read over ${scheme}://. ${forms}`)
  // `ext::command` and its like run programs.
  if (/^[a-z\d]+::/i.test(url)) throw new SourceFault('Refused', `A URL with :: names a program to run. ${forms}`)
  return /^[^/]*:/.test(url) ? shortSsh(url) : localPath(url)
}

function localPath(path: string): Location {
  return { is: 'local', path: resolve(path) }
}

function localUrl(url: string): Location {
  try {
    return localPath(fileURLToPath(url))
  } catch (cause) {
    throw new SourceFault('Refused', 'A file:// URL has three slashes and no host: file:///path/of/the/repository.', {
      cause,
    })
  }
}

function remoteUrl(url: string, protocol: 'https' | 'ssh'): Location {
  const { hostname, password, username, pathname } = parsed(url)
  if (url.includes(' ')) throw new SourceFault('Refused', 'Write a blank in a URL as %20.')
  refuseOption(hostname, pathname.slice(1))
  if (password !== '' || (protocol === 'https' && username !== ''))
    // git would show it in the list of processes.
    throw new SourceFault(
      'Refused',
      `The URL of ${hostname} holds a user or a password. Take them out and put them into ~/.netrc (machine, login, password).`,
    )
  return { is: 'remote', url, protocol, shown: withoutUserinfo(url) }
}

function parsed(url: string): URL {
  try {
    return new URL(url)
  } catch {
    // The text is not repeated: what cannot be read may hold a password anywhere.
    throw new SourceFault('Refused', `The URL of the repository cannot be read. ${forms}`)
  }
}

/** `user@host:path`, as ssh users write it. */
function shortSsh(url: string): Location {
  const [, user, host = '', path = ''] = /^(?:([^@:]*)@)?([^:]*):(.*)$/.exec(url) ?? []
  refuseOption(host, path)
  if (user === '' || user?.startsWith('-')) throw new SourceFault('Refused', `No user is named so. ${forms}`)
  return { is: 'remote', url, protocol: 'ssh', shown: `${host}:${path}` }
}

/** A host or path that begins with a dash would be read as an option by ssh or by the git of the other side. */
function refuseOption(host: string, path: string): void {
  if (host === '' || path === '') throw new SourceFault('Refused', `The URL names no host or no path. ${forms}`)
  if (host.startsWith('-') || path.startsWith('-'))
    throw new SourceFault('Refused', `A host or path that begins with a dash is not taken. ${forms}`)
}
