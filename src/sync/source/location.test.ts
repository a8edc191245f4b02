import { expect, test } from 'vitest'
import { readLocation } from './location.ts'

test.for([
  ['/srv/repo', { is: 'local', path: '/srv/repo' }],
  ['/srv/my repo/', { is: 'local', path: '/srv/my repo' }],
  ['./a:b', { is: 'local', path: `${process.cwd()}/a:b` }],
  ['file:///srv/my%20repo', { is: 'local', path: '/srv/my repo' }],
  ['file://localhost/srv/repo', { is: 'local', path: '/srv/repo' }],
  ['https://example.org/a/b.git', { is: 'remote', protocol: 'https', shown: 'https://example.org/a/b.git' }],
  ['ssh://git@example.org:2222/a', { is: 'remote', protocol: 'ssh', shown: 'ssh://example.org:2222/a' }],
  ['git@example.org:a/b.git', { is: 'remote', protocol: 'ssh', shown: 'example.org:a/b.git' }],
  ['example.org:a', { is: 'remote', protocol: 'ssh', shown: 'example.org:a' }],
] as const)('%s is understood', ([url, location]) => {
  expect(readLocation(url)).toMatchObject(location)
})

test.for([
  ['', 'is empty'],
  [' /srv/repo', 'holds blanks'],
  ['/srv/re\npo', 'holds blanks'],
  ['http://example.org/a', 'https://'],
  ['git://example.org/a', 'not read over git://'],
  ['ftp://example.org/a', 'not read over ftp://'],
  ['ext::sh -c evil', 'names a program'],
  ['fd::17', 'names a program'],
  ['file://host/srv', 'three slashes'],
  ['https://', 'cannot be read'],
  ['https://example.org', 'no host or no path'],
  ['https://example.org/a b', '%20'],
  ['https://user:hunter2@example.org/a', '~/.netrc'],
  ['https://hunter2@example.org/a', '~/.netrc'],
  ['ssh://git:hunter2@example.org/a', '~/.netrc'],
  ['https://user:hunter2/x@example.org/a', 'cannot be read'],
  ['ssh://-oProxyCommand=evil/a', /dash|cannot be read/],
  ['-oProxyCommand=evil:a', 'dash'],
  ['example.org:-a', 'dash'],
  ['-u@example.org:a', 'No user'],
  [':a', 'no host'],
] as const)('%j is refused, and no password repeated', ([url, message]) => {
  const refusal = () => readLocation(url)
  expect(refusal).toThrow(message)
  expect(refusal).not.toThrow('hunter2')
  expect(refusal).toThrow(expect.objectContaining({ code: 'Refused', isTransient: false }))
})
