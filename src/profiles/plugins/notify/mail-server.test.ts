import { expect, test } from 'vitest'
import { mailServerOf } from './mail-server.ts'

test.for([
  ['mail.example.org:587', 'mail.example.org', 587],
  ['[::1]:25', '::1', 25],
  ['mail.example.org:smtp', 'mail.example.org', 25],
  ['mail.example.org:Submission', 'mail.example.org', 587],
  ['mail.example.org:submissions', 'mail.example.org', 465],
  ['mail.example.org:smtps', 'mail.example.org', 465],
  [':25', 'localhost', 25],
  ['[]:smtp', 'localhost', 25],
] as const)('%s is the server %s at port %d', ([address, host, port]) => {
  expect(mailServerOf(address)).toEqual({ host, port })
})

test.for([
  '',
  ':',
  'mail.example.org',
  'mail.example.org:',
  'mail.example.org:0',
  'mail.example.org:65536',
  'mail.example.org:99999',
  'mail.example.org:-25',
  'mail.example.org:gopher',
  'mail.example.org:25 ',
  '::1:25',
])('%j is no mail server', (address) => {
  expect(mailServerOf(address)).toBeUndefined()
})
