import { expect, test } from 'vitest'
import { lastWords, meaningOf, SourceFault } from './source-fault.ts'

test.for([
  ["fatal: couldn't find remote ref refs/heads/x", 'RefGone'],
  ['fatal: remote error: upload-pack: not our ref 0123', 'RefGone'],
  ["fatal: unable to access 'https://h/a/': The requested URL returned error: 403", 'Denied'],
  ["fatal: could not read Username for 'https://h': terminal prompts disabled", 'Denied'],
  ['git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.', 'Denied'],
  ['Host key verification failed.\nfatal: Could not read from remote repository.', 'Denied'],
  ["remote: Not Found\nfatal: repository 'https://h/a/' not found", 'NotThere'],
  ["fatal: '/a' does not appear to be a git repository", 'NotThere'],
  ["fatal: unable to access 'https://h/a/': Could not resolve host: h", 'Unreachable'],
  ["fatal: unable to access 'https://h/a/': The requested URL returned error: 502", 'Unreachable'],
  ['ssh: connect to host h port 22: Connection refused', 'Unreachable'],
  ['fatal: the remote end hung up unexpectedly\nfatal: early EOF', 'Unreachable'],
  ['error: object 01: hasDotdot: contains ..\nfatal: fsck error in packed object', 'Refused'],
  ["fatal: transport 'file' not allowed", 'Refused'],
  ['fatal: loose object 01 (stored in x) is corrupt', 'Damaged'],
  ['fatal: bad object refs/fettle/x', 'Damaged'],
  ["fatal: not a git repository: '/x'", 'Damaged'],
  ['something never said before', 'Unreachable'],
] as const)('%j means %s', ([words, code]) => {
  expect(meaningOf(words)).toBe(code)
})

test.for([
  ['Symlink', true],
  ['PathMissing', true],
  ['TooLarge', true],
  ['RefGone', false],
  ['Damaged', false],
  ['Unreachable', false],
] as const)('%s is a fault of the commit: %s', ([code, isOfCommit]) => {
  expect(new SourceFault(code, 'what').isOfCommit).toBe(isOfCommit)
})

test('no user and no password is in any message', () => {
  const words = "fatal: unable to access 'https://user:hunter2@h/a'"
  expect(new SourceFault('Unreachable', words).message).toBe("fatal: unable to access 'https://h/a'")
  expect(lastWords(words)).not.toContain('hunter2')
})

test('the words of a server cannot steer a terminal', () => {
  expect(lastWords('one\nremote: \u001b]0;evil\u0007\r\n\nlast')).toBe('one; remote:  ]0;evil; last')
})
