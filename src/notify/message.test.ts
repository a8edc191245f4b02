import { describe, expect, test } from 'vitest'
import { notifyOccasions } from '../api/index.ts'
import { request } from './fixture-request.ts'
import { composeMessage, webhookBody } from './message.ts'

const line = (message: string) => ({
  history: [{ time: '2026-03-01T12:00:00Z', phase: 'Done' as const, reason: 'Completed', message }],
})
const held = {
  held: { from: 'Claimed', reason: 'DrainDeadline', message: '2 pods did not leave', next: 'fettle node retry r' },
} as const
const slack = { urlSecretKey: 'slack' }

describe('without a template', () => {
  test('everything that matters is said', () => {
    const asked = request(line('the work was done and the node is back'), { spec: { requestedBy: 'jdoe-at-example' } })
    expect(notifyOccasions.map((occasion) => composeMessage({}, asked, occasion).text)).toEqual([
      'node-7 leaves service: new fan (node-7-person-x4k2p, asked for by jdoe-at-example)',
      'node-7 is told to reboot: new fan (node-7-person-x4k2p)',
      'node-7: the work was done and the node is back: new fan (node-7-person-x4k2p)',
      'node-7 needs a person: the work was done and the node is back (node-7-person-x4k2p, new fan)',
    ])
    expect(composeMessage({}, request(held), 'Held')).toMatchObject({
      subject: 'Fettle: node-7: Held',
      text: 'node-7 needs a person: 2 pods did not leave (node-7-person-x4k2p, new fan). Next: fettle node retry r',
      problems: [],
    })
  })
})

describe('a template', () => {
  test('knows all facts', () => {
    const messages = {
      Held: '{{range $name, $fact := .}}{{$name}}={{$fact}};{{end}}',
    }
    expect(composeMessage({ messages }, request(held), 'Held').text).toBe(
      'By=;Message=2 pods did not leave;Next=fettle node retry r;Node=node-7;Occasion=Held;Reason=new fan;' +
        'Request=node-7-person-x4k2p;Source=Person;',
    )
  })

  test('is for its occasion', () => {
    const messages = { Held: 'help' }
    expect(composeMessage({ messages }, request(), 'Held').text).toBe('help')
    expect(composeMessage({ messages }, request(), 'Drain').text).toContain('leaves service')
  })

  test.each([
    ['cannot be read', '{{.Node', 'line 1, column 1: these braces are not closed; write }} behind the action'],
    ['cannot be rendered', '{{.Node.Name}}', 'line 1, column 3: .Name is asked of string, which has no fields'],
  ])('that %s is replaced, and named', (_what, template, why) => {
    const mail = { host: 'h', port: 25, security: 'None', from: 'a@b', to: ['c@d'], subject: template } as const
    const message = composeMessage(
      { messages: { Drain: template }, mail: { ...mail, to: ['c@d'] } },
      request(),
      'Drain',
    )
    expect(message.text).toBe('node-7 leaves service: new fan (node-7-person-x4k2p)')
    expect(message.subject).toBe('Fettle: node-7: Drain')
    expect(message.problems).toEqual([
      { template, path: 'messages.Drain', why },
      { template, path: 'mail.subject', why },
    ])
  })

  test('of a subject makes one line of it', () => {
    const mail = {
      host: 'h',
      port: 25,
      security: 'None' as const,
      from: 'a@b',
      to: ['c@d'],
      subject: 'a\r\nBcc: x\n{{.Node}}',
    }
    expect(composeMessage({ mail }, request(), 'Drain').subject).toBe('a Bcc: x node-7')
  })
})

test('facts cannot call a whole channel, and templates can', () => {
  const nasty = request({}, { spec: { reason: '<!channel> & more' } })
  const messages = { Drain: '<!here> {{.Reason}}' }
  expect(composeMessage({ slack, messages }, nasty, 'Drain').text).toBe('<!here> &lt;!channel&gt; &amp; more')
  expect(composeMessage({ messages }, nasty, 'Drain').text).toBe('<!here> <!channel> & more')
})

test('a webhook gets the facts, and can tell a repetition', () => {
  const asked = request(held, { spec: { requestedBy: 'jdoe-at-example' } })
  expect(webhookBody('board', composeMessage({ messages: { Held: 'help' } }, asked, 'Held'))).toEqual({
    apiVersion: 'fettle.dev/v1alpha1',
    kind: 'Notification',
    id: 'uid-node-7-person-x4k2p/Held/2026-03-01T12:00:00.000Z',
    notification: 'board',
    occasion: 'Held',
    text: 'help',
    message: '2 pods did not leave',
    next: 'fettle node retry r',
    node: { name: 'node-7', uid: 'uid-node-7' },
    request: {
      name: 'node-7-person-x4k2p',
      uid: 'uid-node-7-person-x4k2p',
      source: { kind: 'Person', key: 'jdoe-at-example' },
      reason: 'new fan',
      requestedBy: 'jdoe-at-example',
    },
  })
})
