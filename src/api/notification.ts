import * as z from 'zod'
import type { KindDefinition } from './kind.ts'

/** Of the Secrets in its namespace, the controller reads this one for addresses and passwords that nobody may see. */
export const notifySecretName = 'fettle-notify'

export const notifyOccasions = ['Drain', 'Reboot', 'Return', 'Held'] as const
export type NotifyOccasion = (typeof notifyOccasions)[number]

const secretKey = z.string().regex(/^[-._a-zA-Z0-9]{1,253}$/)
const address = z.string().min(3).max(320)

const slack = z.object({
  urlSecretKey: secretKey.describe(
    `key in the Secret ${notifySecretName} that holds the address of the incoming webhook`,
  ),
  channel: z.string().max(256).optional().describe('channel, for webhooks that let it be chosen'),
})

const mail = z.object({
  host: z.string().min(1).max(253).describe('the mail server'),
  port: z.int().min(1).max(65_535).default(587).describe('its port'),
  security: z
    .enum(['StartTLS', 'TLS', 'None'])
    .default('StartTLS')
    .describe('how the connection is protected; None sends no password'),
  from: address.describe('sender'),
  to: z.array(address).min(1).max(32).describe('receivers'),
  subject: z.string().min(1).max(1024).optional().describe('template of the subject, in the language of the messages'),
  username: z.string().max(256).optional().describe('user name at the mail server'),
  passwordSecretKey: secretKey.optional().describe(`key in the Secret ${notifySecretName} that holds its password`),
})

const webhook = z.object({
  url: z
    .string()
    .max(2048)
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/)
    .optional()
    .describe('is sent a POST with the facts as JSON'),
  urlSecretKey: secretKey.optional().describe(`the same, from the Secret ${notifySecretName}`),
  tokenSecretKey: secretKey
    .optional()
    .describe(`key in the Secret ${notifySecretName}; its value is sent as a bearer token`),
})

const message = z.string().min(1).max(4096)

export const notification = z.object({
  name: z.string().min(1).max(63).describe('shown where sending fails'),
  on: z
    .array(z.enum(notifyOccasions))
    .min(1)
    .max(notifyOccasions.length)
    .default([...notifyOccasions])
    .describe('when something is sent: the drain begins, the node is told to reboot, it is back, it needs a person'),
  slack: slack.optional().describe('to a Slack channel'),
  mail: mail.optional().describe('by mail'),
  webhook: webhook.optional().describe('to any address'),
  messages: z
    .object({
      Drain: message.optional().describe('when the drain begins'),
      Reboot: message.optional().describe('when the node is told to reboot'),
      Return: message.optional().describe('when it is back in service'),
      Held: message.optional().describe('when it stopped and needs a person'),
    })
    .optional()
    .describe(
      'templates in the language of Go, with .Node, .Request, .Reason, .Occasion, .Message, .Next, .Source and .By',
    ),
})

/** For a list of notifications, by the path that it has. */
export function notificationRules(list: string): KindDefinition['rules'] {
  const each = `${list}.[]`
  return {
    [each]: [
      {
        rule: '[has(self.slack), has(self.mail), has(self.webhook)].filter(isThere, isThere).size() == 1',
        message: 'a notification has exactly one of slack, mail and webhook',
      },
    ],
    [`${each}.webhook`]: [
      { rule: 'has(self.url) != has(self.urlSecretKey)', message: 'a webhook has either url or urlSecretKey' },
    ],
    [`${each}.mail`]: [
      {
        rule: "!has(self.passwordSecretKey) || (has(self.username) && self.security != 'None')",
        message: 'a password needs a username, and a connection that is protected',
      },
    ],
  }
}

export type Notification = z.output<typeof notification>
