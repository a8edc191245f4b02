import { expect, test } from 'vitest'
import type { Seen } from './finding.ts'
import { notifyPart, templateOf } from './notify.ts'

const place = { file: 'values.yaml', line: 3 }
const canary = 'c4nary'

function notify(given: Readonly<Record<string, Partial<Seen>>>) {
  const one = (flag: string) => given[flag] && { as: `--${flag}`, flag, place, ...given[flag] }
  const part = notifyPart({ one, all: () => [] })
  expect(JSON.stringify(part)).not.toContain(canary)
  return part
}

const forUrl = (text: string) => notify({ 'notify-url': { text } })

test.each([
  [`slack://T0/B0/${canary}`, { slack: { urlSecretKey: 'slack-url' } }],
  [`"slack://robot@T0/B0/${canary}"`, { slack: { urlSecretKey: 'slack-url' } }],
  [`slack://hook:T0-B0-${canary}@webhook`, { slack: { urlSecretKey: 'slack-url' } }],
  [`generic://example.com/${canary}`, { webhook: { urlSecretKey: 'webhook-url' } }],
  [`generic+https://example.com/?token=${canary}`, { webhook: { urlSecretKey: 'webhook-url' } }],
  [
    'smtp://mail.example/?from=a@example.com&to=b@example.com&encryption=None',
    { mail: { host: 'mail.example', port: 25, security: 'None', from: 'a@example.com', to: ['b@example.com'] } },
  ],
  [
    `smtp://rob%40x:${canary}@mail.example:465/?fromAddress=a@example.com&toAddresses=b@example.com,c@example.com&subject=N`,
    {
      mail: {
        ...{ host: 'mail.example', port: 465, security: 'TLS', from: 'a@example.com' },
        ...{
          to: ['b@example.com', 'c@example.com'],
          subject: 'N',
          username: 'rob@x',
          passwordSecretKey: 'mail-password',
        },
      },
    },
  ],
])('%s has a place here', (url, sink) => {
  const { budget, secretKeys, findings } = forUrl(url)
  expect(budget).toEqual({ notify: [{ name: 'kured', ...sink }] })
  expect(findings.map(({ outcome }) => outcome)).not.toContain('refused')
  expect(secretKeys?.map(({ text }) => text).join() ?? '').toMatch(
    url.includes(canary) ? /--notify-url \(values.yaml:3\)/ : /^$/,
  )
})

test.each([
  [`slack://xoxb:1-2-${canary}@C001`, /incoming webhook/],
  [`teams://${canary}@x/y?host=z`, /^teams is no service that is known here; let a webhook of yours pass/],
  [`discord://${canary}@1`, /^discord is no/],
  [`telegram://${canary}@telegram?chats=@x`, /^telegram is no/],
  [canary, /what it names is no service/],
  [`smtp://u:${canary}@mail.example/?from=a@example.com&to=b@example.com&encryption=None`, /not protected/],
  [`smtp://u:${canary}@mail.example/?to=b@example.com`, /lacks something/],
  [`smtp://u:${canary}@mail.example:x/`, /not an address of a mail server/],
])('%s is refused with what to do', (url, remedy) => {
  const { budget, findings } = forUrl(url)
  expect(budget).toBeUndefined()
  expect(findings).toMatchObject([{ outcome: 'refused', text: expect.stringMatching(remedy) }])
  expect(findings[0]?.text).toContain('by hand')
})

test('an address in a Secret is used if its kind is known, and else refused', () => {
  const heldBy = 'Secret chat, key hook'
  expect(notify({ 'slack-hook-url': { heldBy } }).secretKeys).toMatchObject([
    { text: `the address that is in ${heldBy}` },
  ])
  expect(notify({ 'notify-url': { text: 'slack://$(TOKEN)', heldBy } }).budget).toBeDefined()
  expect(notify({ 'notify-url': { heldBy } }).findings).toMatchObject([{ outcome: 'refused' }])
})

test('of two addresses kured uses the newer flag, and messages need one of them', () => {
  const both = notify({ 'notify-url': { text: 'slack://a/b/c' }, 'slack-hook-url': { text: canary } })
  expect(both.findings.map(({ setting, outcome }) => [setting, outcome])).toEqual([
    ['--slack-hook-url', 'not needed'],
    ['--notify-url', 'carried over'],
  ])
  expect(notify({ 'message-template-drain': { text: '%s' } }).findings).toMatchObject([{ outcome: 'not needed' }])
})

test.each([
  ['Node %s is back (100%%)', 'Node {{ .Node }} is back (100%)'],
  ['{{%s}}', '{{ "{{" }}{{ .Node }}}}'],
  ['no node', undefined],
  ['%s and %s', undefined],
  ['%s %d', undefined],
])('the message %j', (text, template) => {
  expect(templateOf(text)).toBe(template)
})
