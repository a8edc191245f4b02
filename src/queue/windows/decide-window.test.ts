import { describe, expect, test } from 'vitest'
import type {
  MaintenanceFreeze,
  MaintenanceWindow,
  MaintenanceWindowSpec,
  MaintenanceWindowStatus,
} from '../../api/index.ts'
import { freezeText, viewFreezes } from './decide-freezes.ts'
import { type CalendarOf, viewWindow } from './decide-window.ts'
import { windowsFrom } from './window-views.ts'

const window = (name: string, spec: Partial<MaintenanceWindowSpec>): MaintenanceWindow => ({
  metadata: { name, uid: name, generation: 1 },
  spec: { timeZone: 'UTC', schedule: { always: true }, ...spec },
})

const freeze = (name: string, spec: Partial<MaintenanceFreeze['spec']>): MaintenanceFreeze => ({
  metadata: { name, uid: name, generation: 1 },
  spec: { reason: 'sale', ...spec },
})

const noCalendars: CalendarOf = ({ name }) => ({ problem: `ConfigMap fettle-system/${name} does not exist` })
const at = (time: string) => Date.parse(`2026-11-17T${time}Z`)
const night = window('night', { schedule: { cron: '0 2 * * *' }, duration: '4h', minRemaining: '1h' })

describe('one window', () => {
  test.for([
    ['before it opens', '01:59', { isOpen: false, opensAtMs: at('02:00') }],
    ['at its first moment', '02:00', { isOpen: true, closesAtMs: at('05:00'), opensAtMs: at('02:00') + 86_400_000 }],
    ['when too little of it is left', '05:00', { isOpen: false, opensAtMs: at('02:00') + 86_400_000 }],
  ] as const)('%s', ([, time, expected]) => {
    expect(viewWindow(night, noCalendars, at(time))).toEqual({ name: 'night', ...expected })
  })

  test('that is always open never changes', () => {
    expect(viewWindow(window('any', {}), noCalendars, at('00:00'))).toEqual({ name: 'any', isOpen: true })
  })

  test('skips times that are shorter than what must remain', () => {
    const cut = window('cut', {
      schedule: { cron: '0 2 * * *' },
      duration: '4h',
      minRemaining: '3h',
      exclusions: [{ cron: '0 4 17 * *', duration: '1h' }],
    })
    expect(viewWindow(cut, noCalendars, at('02:30'))).toEqual({
      name: 'cut',
      isOpen: false,
      opensAtMs: at('02:00') + 86_400_000,
    })
  })

  test.for([
    ['a spec that cannot be read', { schedule: { cron: 'x' }, duration: '1h' }, /cannot be read: schedule\.cron: "x"/],
    [
      'a calendar that cannot be read',
      { exclusions: [{ ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } }] },
      /exclusions\[0\]\.ics: ConfigMap fettle-system\/holidays does not exist/,
    ],
  ] as const)('is closed by %s', ([, spec, problem]) => {
    const view = viewWindow(window('broken', spec as Partial<MaintenanceWindowSpec>), noCalendars, at('00:00'))
    expect(view).toEqual({ name: 'broken', isOpen: false, problem: expect.stringMatching(problem) })
  })
})

describe('several windows', () => {
  const early = window('early', { schedule: { cron: '0 1 * * *' }, duration: '2h' })
  const late = window('late', { schedule: { cron: '0 3 * * *' }, duration: '2h' })
  const now = (time: string, freezes: readonly MaintenanceFreeze[] = []) =>
    windowsFrom([night, early, late], freezes, noCalendars, at(time))

  test('are open when one is, for as long as any is', () => {
    expect(now('01:30').stateFor(['early', 'late'])).toMatchObject({ isOpen: true, closesAtMs: at('05:00') })
    expect(now('00:30').stateFor(['late', 'early'])).toEqual({ isOpen: false, opensAtMs: at('01:00') })
  })

  describe('that touch are one, and what must remain is counted to the end of the last of them', () => {
    const withRest = (name: string, cron: string, duration: string, minRemaining?: string) =>
      window(name, { schedule: { cron }, duration, ...(minRemaining ? { minRemaining } : {}) })
    const claimedFrom = (windows: readonly MaintenanceWindow[]) => (time: string) =>
      windowsFrom(windows, [], noCalendars, at(time)).stateFor(windows.map(({ metadata }) => metadata.name ?? ''))
    const first = withRest('first', '0 1 * * *', '2h', '1h')
    const second = withRest('second', '0 3 * * *', '2h', '1h')
    const apart = withRest('apart', '1 3 * * *', '2h', '1h')
    const strict = withRest('strict', '0 1 * * *', '4h', '3h')
    const lax = withRest('lax', '0 4 * * *', '2h')

    test.for([
      ['not in the last hour of the first', [first, second], '02:30', '04:00'],
      ['nor at the moment when one follows the other', [first, second], '03:00', '04:00'],
      ['the order of the names does not matter', [second, first], '02:30', '04:00'],
      // 05:00 is the end of the first alone, 06:00 of both.
      ['the stricter one counts to the common end', [strict, lax], '02:59', '03:00'],
      ['and the other one by its own rule', [strict, lax], '04:00', '06:00'],
    ] as const)('%s', ([, windows, time, closes]) => {
      expect(claimedFrom(windows)(time)).toMatchObject({ isOpen: true, closesAtMs: at(closes) })
    })

    test.for([
      ['in the last hour of the last', [first, second], '04:00', at('01:00') + 86_400_000],
      ['in the last hour before a gap', [first, apart], '02:00', at('03:01')],
      ['where neither leaves enough', [strict, lax], '03:30', at('04:00')],
    ] as const)('and nothing is claimed %s', ([, windows, time, opensAtMs]) => {
      expect(claimedFrom(windows)(time)).toEqual({ isOpen: false, opensAtMs })
    })

    test('no window allows less because another one, which wants more to remain, ends later', () => {
      const long = withRest('long', '0 2 * * *', '4h')
      const choosy = withRest('choosy', '0 5 * * *', '90m', '4h')
      expect(claimedFrom([long, choosy])('05:59')).toMatchObject({ isOpen: true, closesAtMs: at('06:00') })
    })
  })

  test('what one of them excludes is closed for all that are named together', () => {
    const exclusions = [{ from: '2026-11-17', to: '2026-11-17' }]
    const careful = window('careful', { schedule: { cron: '0 22 * * *' }, duration: '1h', exclusions })
    const windows = windowsFrom([early, careful], [], noCalendars, at('01:30'))
    expect(windows.stateFor(['early'])).toMatchObject({ isOpen: true })
    expect(windows.stateFor(['early', 'careful'])).toEqual({ isOpen: false, opensAtMs: at('01:00') + 86_400_000 })
  })

  test('what one of them excludes and nobody can read keeps all of them closed', () => {
    const exclusions = [{ ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } }]
    const unclear = window('unclear', { exclusions })
    expect(windowsFrom([early, unclear], [], noCalendars, at('01:30')).stateFor(['early', 'unclear'])).toEqual({
      isOpen: false,
      problem: expect.stringContaining('ConfigMap fettle-system/holidays does not exist') as string,
    })
  })

  test('none of them named is always open', () => {
    expect(now('12:00').stateFor([])).toEqual({ isOpen: true })
  })

  test('one that does not exist is closed, and so is every list that names it: nobody knows what it would exclude', () => {
    const problem =
      'MaintenanceWindow nigth does not exist, and what it would exclude is not known; create it, or take its name from the list'
    expect(now('03:00').stateFor(['nigth'])).toEqual({ isOpen: false, problem })
    expect(now('03:30').stateFor(['nigth', 'late'])).toEqual({ isOpen: false, problem })
    expect(now('03:30').stateFor(['late'])).toMatchObject({ isOpen: true })
  })

  test('tell when anything changes next', () => {
    expect(now('00:30').nextChangeMs).toBe(at('01:00'))
    expect(now('02:30').nextChangeMs).toBe(at('03:00'))
    expect(now('00:30', [freeze('f', { until: '2026-11-17T00:45:00Z' })]).nextChangeMs).toBe(at('00:45'))
    expect(windowsFrom([window('any', {})], [], noCalendars, at('00:00'))).not.toHaveProperty('nextChangeMs')
  })
})

describe('a window whose calendars are not for the reader', () => {
  const exclusions = [{ ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } }]
  const daily = { schedule: { cron: '0 2 * * *' }, duration: '4h', minRemaining: '1h', exclusions }
  const ready = (status: 'True' | 'False') => [
    {
      type: 'ExclusionSourceReady' as const,
      status,
      reason: 'x',
      message: 'closed until this is mended: y',
      lastTransitionTime: '2026-11-17T00:00:00Z',
    },
  ]
  const span = (day: number) => ({ start: `2026-11-${day}T02:00:00Z`, end: `2026-11-${day}T06:00:00Z` })
  const { start: currentStart, end: currentEnd } = span(17)
  const open: MaintenanceWindowStatus = {
    observedGeneration: 1,
    open: true,
    currentStart,
    currentEnd,
    next: [span(18)],
    conditions: ready('True'),
  }
  const { currentStart: _, currentEnd: __, ...without } = open
  const closed = { ...without, open: false }
  const free = window('free', {})
  const stateOf = (status: MaintenanceWindowStatus | undefined, time: string, names = ['hidden']) => {
    const hidden = { ...window('hidden', daily), ...(status ? { status } : {}) }
    return windowsFrom(
      [hidden, free],
      [],
      noCalendars,
      at(time),
      ({ metadata }) => metadata.name === 'hidden',
    ).stateFor(names)
  }

  test('is open when its status says so, until too little of it is left', () => {
    const opensAtMs = at('02:00') + 86_400_000
    expect(stateOf(open, '04:59')).toEqual({ isOpen: true, closesAtMs: at('05:00'), opensAtMs })
    expect(stateOf(open, '05:00')).toEqual({ isOpen: false, opensAtMs })
  })

  test('excludes nothing while it is open itself, and perhaps everything at other times', () => {
    expect(stateOf(open, '03:00', ['hidden', 'free'])).toMatchObject({ isOpen: true, closesAtMs: at('06:00') })
    expect(stateOf(closed, '03:00', ['hidden', 'free'])).toEqual({
      isOpen: false,
      opensAtMs: at('02:00') + 86_400_000,
    })
  })

  test.for([
    ['nobody has written its status', undefined, /no status yet/],
    ['its status is about an older spec', { ...open, observedGeneration: 0 }, /no status yet/],
    [
      'the controller cannot read a calendar either',
      { ...open, conditions: ready('False') },
      /until this is mended: y/,
    ],
    ['nothing is said about calendars', { ...open, conditions: [] }, /no status yet/],
  ] as const)('is closed when %s', ([, status, problem]) => {
    expect(stateOf(status as MaintenanceWindowStatus | undefined, '03:00', ['free', 'hidden'])).toEqual({
      isOpen: false,
      problem: expect.stringMatching(problem) as string,
    })
  })
})

describe('freezes', () => {
  test('hold from their beginning to before their end', () => {
    const one = freeze('one', { from: '2026-11-17T01:00:00Z', until: '2026-11-17T02:00:00Z', by: 'ada' })
    expect(viewFreezes([one], at('00:59'))).toEqual({ active: [], nextChangeMs: at('01:00') })
    expect(viewFreezes([one], at('01:00'))).toEqual({
      active: [{ name: 'one', reason: 'sale', by: 'ada', untilMs: at('02:00') }],
      nextChangeMs: at('02:00'),
    })
    expect(viewFreezes([one], at('02:00'))).toEqual({ active: [] })
  })

  test('without times hold until they are deleted, and the longest is named first', () => {
    const view = viewFreezes([freeze('short', { until: '2026-11-18T00:00:00Z' }), freeze('open', {})], at('00:00'))
    expect(view.active.map(({ name }) => name)).toEqual(['open', 'short'])
    expect(freezeText(view)).toBe('MaintenanceFreeze open stops all claims until it is deleted: sale, and 1 more')
    expect(freezeText({ active: [] })).toBeUndefined()
  })

  test('with a time that nobody can read hold: doubt never disrupts', () => {
    expect(viewFreezes([freeze('odd', { from: 'soon', until: 'later' })], at('00:00')).active).toHaveLength(1)
  })

  test('with a selector are not about the queue', () => {
    expect(viewFreezes([freeze('some', { selector: {} })], at('00:00'))).toEqual({ active: [] })
  })
})
