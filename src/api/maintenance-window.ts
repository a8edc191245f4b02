import * as z from 'zod'
import { weekdays } from '../time/index.ts'
import { type KindDefinition, notYet, type Rule } from './kind.ts'
import { conditionOf, duration, keyedBy, objectName, time } from './values.ts'

const cron = z.string().min(1).max(128)

const localTime = z
  .string()
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$/)
  .meta({ title: 'local time, such as 2027-01-05T02:00:00' })

const date = z
  .string()
  .max(10)
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/)
  .meta({ title: 'date, such as 2027-01-05' })

const timeOfDay = z
  .string()
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$/)
  .meta({ title: 'time of day, such as 22:00' })

const schedule = z.object({
  cron: cron
    .optional()
    .describe(
      'starts by five fields: names, ranges, steps, L, 5L (last Friday), 2#2 (second Tuesday), @weekly and the like',
    ),
  rrule: z.string().min(1).max(2048).optional().describe('starts by a DTSTART line and an RRULE line of RFC 5545'),
  weekly: z
    .object({
      days: z.array(z.enum(weekdays)).min(1).max(7).describe('weekdays on which it starts'),
      from: timeOfDay.describe('when it starts'),
      to: timeOfDay.describe('when it ends; before from means on the next day'),
    })
    .optional()
    .describe('between two times of day, on some weekdays'),
  once: z
    .object({ from: localTime.describe('when it starts'), to: localTime.describe('when it ends') })
    .optional()
    .describe('a single time'),
  always: z.boolean().optional().describe('open all the time, except for exclusions'),
})

const exclusion = z.object({
  name: z.string().min(1).max(63).optional().describe('for people'),
  from: date.optional().describe('first day, as a whole'),
  to: date.optional().describe('last day, as a whole'),
  cron: cron.optional().describe('starts by five fields; needs duration'),
  duration: duration.optional().describe('how long it lasts from each start, 1m to 744h'),
  ics: z
    .object({
      configMapRef: z
        .object({
          namespace: objectName.optional().describe("default: the controller's own; another one needs a Role there"),
          name: objectName.describe('name of the ConfigMap'),
          key: z.string().min(1).max(253).describe('its key that holds the calendar'),
        })
        .describe('where the calendar is'),
    })
    .optional()
    .describe('all events of an iCalendar file'),
})

const spec = z.object({
  timeZone: z
    .string()
    .min(1)
    .max(64)
    .default('UTC')
    .describe('IANA name such as Europe/Paris; offsets are refused, because they hide that clocks change'),
  schedule: schedule.describe('when it opens; exactly one of them'),
  duration: duration.optional().describe('with cron and rrule: how long it stays open in elapsed time, 1m to 168h'),
  lead: duration.optional().describe('how long before it opens that is announced'),
  minRemaining: duration.optional().describe('nothing is claimed later than this before it closes; default 0s'),
  onClose: z.looseObject({}).optional().describe('what happens to work that is under way when it closes'),
  exclusions: z.array(exclusion).max(32).optional().describe('times at which it is closed whatever the schedule says'),
})

const interval = z.object({
  start: time.describe('when it opens'),
  end: time.optional().describe('when it closes'),
})

const status = z.object({
  observedGeneration: z.int().min(0).optional().describe('generation of the spec that the rest is about'),
  open: z.boolean().describe('whether it is open'),
  currentStart: time.optional().describe('since when it is open'),
  currentEnd: time.optional().describe('until when it is open'),
  next: z.array(interval).max(5).optional().describe('when it opens next, at most five'),
  conditions: z
    .array(conditionOf(['Valid', 'NeverOpens', 'ExclusionSourceReady']))
    .max(8)
    .meta(keyedBy('type', 'whether it can be read, and whether it ever opens'))
    .optional(),
})

const exactlyOne = (fields: readonly string[]) =>
  `[${fields.map((field) => `has(self.${field})`).join(', ')}].filter(given, given).size() == 1`

const lasts = (longest: string): Rule => ({
  rule: `duration(self) >= duration('1m') && duration(self) <= duration('${longest}')`,
  message: `lasts from 1m to ${longest}`,
})

export const maintenanceWindow: KindDefinition = {
  kind: 'MaintenanceWindow',
  plural: 'maintenancewindows',
  shortNames: ['mwin'],
  description: 'Says when nodes may be taken out of service; requests and the budget name it.',
  spec,
  status,
  example: {
    name: 'tuesday-night',
    spec: {
      timeZone: 'Europe/Paris',
      schedule: { cron: '0 2 * * TUE' },
      duration: '4h',
      minRemaining: '10m',
      exclusions: [{ name: 'end of the year', from: '2026-12-18', to: '2027-01-04' }],
    },
  },
  selectableFields: [],
  printerColumns: [
    { name: 'Open', type: 'boolean', jsonPath: '.status.open', description: 'whether it is open' },
    { name: 'Until', type: 'string', jsonPath: '.status.currentEnd', description: 'until when it is open' },
    { name: 'Next', type: 'string', jsonPath: '.status.next[0].start', description: 'when it opens next' },
    {
      name: 'Valid',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Valid")].status',
      description: 'whether it can be read',
    },
    { name: 'Time zone', type: 'string', jsonPath: '.spec.timeZone', description: 'its time zone', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'since it exists' },
  ],
  rules: {
    spec: [
      {
        rule: 'has(self.duration) == (has(self.schedule.cron) || has(self.schedule.rrule))',
        message: 'duration goes with cron and rrule, and only with them',
        fieldPath: '.duration',
      },
      {
        rule: '!has(self.minRemaining) || !has(self.duration) || duration(self.minRemaining) < duration(self.duration)',
        message: 'minRemaining must be shorter than duration, or nothing is ever claimed',
        fieldPath: '.minRemaining',
      },
      notYet('lead'),
      notYet('onClose'),
    ],
    'spec.timeZone': [
      {
        rule: "!self.matches('^(UTC|GMT)?[+-]')",
        message: 'write an IANA name such as Europe/Paris: an offset hides that clocks change',
      },
    ],
    'spec.duration': [lasts('168h')],
    'spec.schedule': [
      {
        rule: exactlyOne(['cron', 'rrule', 'weekly', 'once', 'always']),
        message: 'write exactly one of cron, rrule, weekly, once and always',
      },
      {
        rule: '!has(self.always) || self.always',
        message: 'always can only be true; to close the window for good, delete it or make a MaintenanceFreeze',
        fieldPath: '.always',
      },
    ],
    'spec.schedule.weekly': [
      {
        rule: "self.from != self.to && self.from != '24:00'",
        message: 'from and to are the same, which is nothing, or everything; a whole day is 00:00 to 24:00',
      },
    ],
    'spec.schedule.once': [{ rule: 'self.from < self.to', message: 'to must be after from' }],
    'spec.exclusions.[]': [
      { rule: exactlyOne(['from', 'cron', 'ics']), message: 'write exactly one of from and to, cron, and ics' },
      { rule: 'has(self.from) == has(self.to)', message: 'from and to go together; for one day write it twice' },
      { rule: '!has(self.from) || !has(self.to) || self.from <= self.to', message: 'to must not be before from' },
      { rule: 'has(self.cron) == has(self.duration)', message: 'duration goes with cron, and only with it' },
    ],
    'spec.exclusions.[].duration': [lasts('744h')],
  },
}

export type MaintenanceWindowSpec = z.output<typeof spec>
export type MaintenanceWindowStatus = z.output<typeof status>
