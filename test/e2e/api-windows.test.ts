import { describe, expect, test } from 'vitest'
import { maintenanceFreeze, maintenanceFreezes, maintenanceWindow, maintenanceWindows } from '../../src/api/index.ts'
import { type Loose, refusal, uniqueName, useApiObjects } from '../support/api-objects.ts'

const api = useApiObjects()

const tryWindow = (spec: object): Promise<Loose> =>
  api().admin.create<Loose>(
    maintenanceWindows,
    { metadata: { name: uniqueName() }, spec: { ...spec } },
    { dryRun: true },
  )

const tryFreeze = (spec: object): Promise<Loose> =>
  api().admin.create<Loose>(
    maintenanceFreezes,
    { metadata: { name: uniqueName() }, spec: { ...spec } },
    { dryRun: true },
  )

const weekly = (from: string, to: string) => ({ schedule: { weekly: { days: ['Mon'], from, to } } })
const always = { schedule: { always: true } }

describe('a MaintenanceWindow', () => {
  test.for([
    ['the example', maintenanceWindow.example.spec],
    ['every minute', { schedule: { cron: '* * * * *' }, duration: '1m', minRemaining: '59s' }],
    ['a rule', { schedule: { rrule: 'DTSTART:20270105T020000\nRRULE:FREQ=MONTHLY;BYDAY=2TU' }, duration: '168h' }],
    ['over midnight', { ...weekly('22:00', '04:00'), minRemaining: '1h' }],
    ['a whole day', weekly('00:00', '24:00')],
    ['once', { schedule: { once: { from: '2027-01-05T02:00:00', to: '2027-01-05T06:00:00' } } }],
    ['always', always],
    [
      'all exclusions',
      {
        ...always,
        exclusions: [
          { name: 'a day', from: '2026-12-24', to: '2026-12-24' },
          { cron: '0 12 * * FRI', duration: '60h' },
          { ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } },
        ],
      },
    ],
  ] as const)('is accepted: %s', async ([, spec]) => {
    expect((await tryWindow(spec)).spec).toEqual({ timeZone: 'UTC', ...spec })
  })

  test.for([
    ['no schedule', { schedule: {} }, 'spec.schedule: Invalid value', 'write exactly one of cron, rrule, weekly'],
    ['two schedules', { schedule: { always: true, cron: '* * * * *' } }, 'spec.schedule', 'write exactly one of'],
    ['never', { schedule: { always: false } }, 'spec.schedule.always', 'always can only be true'],
    [
      'cron without duration',
      { schedule: { cron: '* * * * *' } },
      'spec.duration',
      'duration goes with cron and rrule',
    ],
    ['duration without cron', { ...always, duration: '1h' }, 'spec.duration', 'duration goes with cron and rrule'],
    ['too short', { schedule: { cron: '* * * * *' }, duration: '59s' }, 'spec.duration', 'lasts from 1m to 168h'],
    ['too long', { schedule: { cron: '* * * * *' }, duration: '169h' }, 'spec.duration', 'lasts from 1m to 168h'],
    [
      'nothing left to claim in',
      { schedule: { cron: '* * * * *' }, duration: '1h', minRemaining: '60m' },
      'spec.minRemaining',
      'must be shorter than duration',
    ],
    ['an offset', { ...always, timeZone: '+02:00' }, 'spec.timeZone', 'write an IANA name'],
    ['another offset', { ...always, timeZone: 'UTC+2' }, 'spec.timeZone', 'write an IANA name'],
    ['from is to', weekly('22:00', '22:00'), 'spec.schedule.weekly', 'from and to are the same'],
    ['no time of day', weekly('25:00', '22:00'), 'spec.schedule.weekly.from', ''],
    [
      'no weekday',
      { schedule: { weekly: { days: ['Monday'], from: '01:00', to: '02:00' } } },
      'spec.schedule.weekly.days',
      '',
    ],
    [
      'once, backwards',
      { schedule: { once: { from: '2027-01-05T02:00', to: '2027-01-05T01:00' } } },
      'spec.schedule.once',
      'to must be after from',
    ],
    [
      'once, with a zone',
      { schedule: { once: { from: '2027-01-05T02:00Z', to: '2027-01-05T03:00Z' } } },
      'spec.schedule.once.from',
      '',
    ],
    ['an empty exclusion', { ...always, exclusions: [{ name: 'x' }] }, 'spec.exclusions[0]', 'write exactly one of'],
    ['half an exclusion', { ...always, exclusions: [{ from: '2026-12-24' }] }, 'spec.exclusions[0]', 'go together'],
    [
      'an exclusion backwards',
      { ...always, exclusions: [{ from: '2026-12-24', to: '2026-12-23' }] },
      'spec.exclusions[0]',
      'to must not be before from',
    ],
    [
      'an exclusion for ever',
      { ...always, exclusions: [{ cron: '* * * * *' }] },
      'spec.exclusions[0]',
      'duration goes',
    ],
    ['lead', { ...always, lead: '1h' }, 'spec.lead: Forbidden', 'has no effect in this version'],
    ['onClose', { ...always, onClose: { policy: 'Finish' } }, 'spec.onClose: Forbidden', 'has no effect'],
  ] as const)('is refused: %s', async ([, spec, field, message]) => {
    const said = await refusal(tryWindow(spec))
    expect(said).toContain(field)
    expect(said).toContain(message)
  })
})

describe('a MaintenanceFreeze', () => {
  test('is accepted', async () => {
    expect((await tryFreeze(maintenanceFreeze.example.spec)).spec).toEqual(maintenanceFreeze.example.spec)
    await tryFreeze({ reason: 'open-ended' })
  })

  test.for([
    ['no reason', {}, 'spec.reason'],
    [
      'an end before its begin',
      { reason: 'x', from: '2026-12-02T00:00:00Z', until: '2026-12-01T00:00:00Z' },
      'until must be after from',
    ],
    ['no time', { reason: 'x', until: 'tomorrow' }, 'spec.until'],
    ['a selector', { reason: 'x', selector: { matchLabels: { a: 'b' } } }, 'spec.selector: Forbidden'],
    ['allowRealtime', { reason: 'x', allowRealtime: true }, 'spec.allowRealtime: Forbidden'],
  ] as const)('is refused: %s', async ([, spec, message]) => {
    expect(await refusal(tryFreeze(spec))).toContain(message)
  })
})
