import { optional, required } from '../fields.ts'
import type { Check, Notifier, Plugin, Schedule, Trigger } from '../plugin.ts'
import { type Loaded, loadConfig } from './load.ts'
import type { Registry } from './registry.ts'
import type { Environment } from './variables.ts'

const fields = {
  text: optional('text', 'any text'),
  flag: optional('flag', 'yes or no'),
  integer: optional('integer', 'a number'),
  duration: optional('duration', 'how long'),
  durationText: optional('durationText', 'how long, with its unit'),
  texts: optional('texts', 'some texts'),
}

const needed = {
  text: required('text', 'any text'),
  flag: required('flag', 'yes or no'),
  integer: required('integer', 'a number'),
  duration: required('duration', 'how long'),
  durationText: required('durationText', 'how long, with its unit'),
  texts: required('texts', 'some texts'),
}

const check: Check = { check: () => ({ isPassed: true, info: {} }) }
const trigger: Trigger = { run: () => 'done', isOutside: false }
const notifier: Notifier = { send: async () => undefined }
const schedule: Schedule = { isDue: () => false }

/** Small plugins that keep what they are made of. */
export function fixtureRegistry(made: unknown[] = []): Registry {
  const plugin = <T>(type: string, instance: T): Plugin<T, typeof fields> => ({
    type,
    about: 'takes all',
    fields,
    create: (config) => {
      made.push(config)
      return instance
    },
  })
  const picky: Plugin<Check, typeof fields> = {
    type: 'picky',
    about: 'takes hardly anything',
    fields,
    problems: ({ text, integer }) => [
      ...(text.startsWith('bad') ? [{ field: 'text', message: `${JSON.stringify(text)} is bad; write good` }] : []),
      ...(integer < 0 ? [{ field: 'integer', message: `${integer} of ${text} is below zero` }] : []),
    ],
    warnings: ({ text }) => (text === 'odd' ? [{ field: 'text', message: 'it is odd; write even' }] : []),
    create: ({ text }) => {
      if (text.startsWith('broken')) throw new Error(`cannot make ${text}`)
      return check
    },
  }
  const needs: Plugin<Check, typeof needed> = { type: 'needs', about: 'all', fields: needed, create: () => check }
  return {
    check: [plugin('see', check), picky, needs],
    trigger: [plugin('act', trigger)],
    notify: [plugin('tell', notifier)],
    schedule: [plugin('periodic', schedule), plugin('oneshot', schedule)],
  }
}

export const intervals = 'intervals: {requeue: 1m}\n'

/** Loads with the small plugins. */
export function load(text: string, env: Environment = {}, allowsUnset = false): Loaded & { readonly made: unknown[] } {
  const made: unknown[] = []
  return { ...loadConfig(text, { env, plugins: fixtureRegistry(made), allowsUnset }), made }
}

export function errorsIn({ problems }: Pick<Loaded, 'problems'>): string[] {
  return problems.filter(({ severity }) => severity === 'error').map(({ message }) => message)
}

export function warningsIn({ problems }: Pick<Loaded, 'problems'>): string[] {
  return problems.filter(({ severity }) => severity === 'warning').map(({ message }) => message)
}

/** What a value of the file is for a field of a kind; undefined when it is refused. */
export function readAs(kind: keyof typeof fields, written: string, env: Environment = {}, more = ''): unknown {
  const text = `${intervals}${more}\ninstances:\n  check:\n  - type: see\n    name: a\n    config:\n      ${kind}: ${written}\n`
  const loaded = load(text, env)
  return loaded.config ? (loaded.made[0] as Record<string, unknown>)[kind] : undefined
}
