/** A request before it is put into bytes. */
export interface RequestParts {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Host and port, as the server is called. */
  readonly authority: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Buffer
}

/** A header that cannot be sent as it is. The message names it and keeps its value to itself. */
export class UnsendableHeader extends Error {
  override readonly name = 'UnsendableHeader'
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const escapedPath = /^\/[\x21-\x7e]*$/
/** A second opinion on these is how one request becomes two. */
const framing = /^(?:host|content-length|transfer-encoding|te|trailer|connection|upgrade|expect)$/i

/** Head and body in one piece: one write, one TLS record, one packet if it is small. */
export function requestBytes({ method, path, authority, headers, body }: RequestParts): Buffer {
  if (!token.test(method)) throw new TypeError('a method has characters that none can have')
  if (!escapedPath.test(path)) throw new TypeError('a path is not absolute, or has characters that are not escaped')
  let head = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n`
  for (const name in headers) {
    const value = headers[name] ?? ''
    if (typeof value === 'string') head += headerLine(name, value)
    else for (const one of value) head += headerLine(name, one)
  }
  if (body) head += `Content-Length: ${body.length}\r\n`
  else if (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE') head += 'Content-Length: 0\r\n'
  head += '\r\n'
  const bytes = Buffer.allocUnsafe(head.length + (body?.length ?? 0))
  bytes.write(head, 0, 'latin1')
  body?.copy(bytes, head.length)
  return bytes
}

function headerLine(name: string, value: string): string {
  if (unsendable.test(value) || !token.test(name))
    throw new UnsendableHeader(`header ${JSON.stringify(name)} has characters that no header can carry`)
  if (framing.test(name)) throw new TypeError(`header ${name} is not for the caller to set`)
  return `${name}: ${value}\r\n`
}
