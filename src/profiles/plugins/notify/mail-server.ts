/** Names of ports that people write for mail, as in /etc/services, beside those that Go knows without that file. */
const namedPorts = new Map([
  ['smtp', 25],
  ['submission', 587],
  ['submissions', 465],
  ['smtps', 465],
])

export interface MailServer {
  readonly host: string
  readonly port: number
}

/** Of host:port, where no host is this very machine; undefined if it is something else. */
export function mailServerOf(address: string): MailServer | undefined {
  const [, bracketed, bare = '', named = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([a-z]+|\d{1,5})$/i.exec(address) ?? []
  const port = namedPorts.get(named.toLowerCase()) ?? Number(named)
  return port >= 1 && port <= 65_535 ? { host: (bracketed ?? bare) || 'localhost', port } : undefined
}
