import { expect, test } from 'vitest'
import { checkText, checkWindows } from './windows-check.ts'

const nowMs = Date.parse('2027-10-20T00:00:00Z')
const check = (text: string) => checkText('windows.yaml', checkWindows(text, nowMs, 3))

test('good windows are shown in their zone and in UTC, with a note where the clocks change', () => {
  const text = `
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: saturday-night}
spec:
  timeZone: Europe/Paris
  schedule:
    weekly: {days: [Sat], from: 22:00, to: 04:00}
  exclusions:
  - ics: {configMapRef: {name: holidays, key: cal.ics}}
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: any}
spec:
  schedule: {always: true}
`
  expect(check(text)).toMatchInlineSnapshot(`
    "saturday-night: closed
    OPENS (Europe/Paris)  CLOSES            OPENS (UTC)       CLOSES            LASTS
    2027-10-23 22:00      2027-10-24 04:00  2027-10-23 20:00  2027-10-24 02:00  6h
    2027-10-30 22:00      2027-10-31 04:00  2027-10-30 20:00  2027-10-31 03:00  7h     the clocks change: 6h on the wall
    2027-11-06 22:00      2027-11-07 04:00  2027-11-06 21:00  2027-11-07 03:00  6h
    exclusions[0]: the calendar in ConfigMap holidays was not looked at; it takes times away
    any: open
    OPENS (UTC)  CLOSES  OPENS (UTC)  CLOSES  LASTS
    -            -       -            -
    "
  `)
})

test('every fault has its line, what was seen, and what to write instead', () => {
  const text = `apiVersion: fettle.dev/v1
kind: MaintenanceWindow
metadata: {}
spec:
  timeZone: Europe/Paris
  schedule:
    cron: 0 2 * * MON
  durations: 4h
  lead: 1h
  minRemaining: ten minutes
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata:
  name: unreadable
spec:
  timeZone: +02:00
  schedule:
    cron: "0 26 * * MON"
  duration: 4h
  exclusions:
  - from: 2026-12-18
    to: 2026-12-17
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: never}
spec:
  schedule: {cron: 0 2 30 2 *}
  duration: 4h
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: too-short}
spec:
  schedule:
    weekly: {days: [Mon], from: "01:00", to: "02:00"}
  minRemaining: 2h
`
  expect(check(text)).toMatchInlineSnapshot(`
    "windows.yaml:1: apiVersion: it is "fettle.dev/v1"; write fettle.dev/v1alpha1
    windows.yaml:3: metadata: it has no name; write metadata: {name: …}
    windows.yaml:8: spec.durations: there is no such field; \`kubectl explain mwin.spec\` lists them
    windows.yaml:9: spec.lead: it has no effect in this version of Fettle; leave it out
    windows.yaml:10: spec.minRemaining: "ten minutes" is not a duration, such as 30m or 1h30m
    windows.yaml:17: spec.timeZone: "+02:00" is not a time zone; write an IANA name such as Europe/Paris or UTC, not an offset
    windows.yaml:19: spec.schedule.cron: "0 26 * * MON" is not a cron pattern: Invalid value for hour: 26; write minute, hour, day of month, month and weekday, such as "0 2 * * MON"
    windows.yaml:22: spec.exclusions[0]: it ends on 2026-12-17, before it begins on 2026-12-18
    windows.yaml:29: spec.schedule: it does not open within the next five years; look at its dates
    windows.yaml:38: spec.minRemaining: it is longer than the window is ever open, so that nothing would be claimed
    "
  `)
})

test('what the API refuses is no good window here either', () => {
  const text = `apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: never}
spec:
  schedule:
    always: false
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: open}
spec:
  schedule: {always: true}
  exclusions:
  - {from: 2027-12-18, to: 2028-01-04, cron: 0 12 * * FRI, duration: 60h}
  - {from: 2027-12-18, to: 2028-01-04, duration: 60h}
  - {from: 2027-12-18, ics: {configMapRef: {name: holidays, key: cal.ics}}}
---
apiVersion: fettle.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: minutes}
spec:
  schedule: {cron: '* * * * *'}
  duration: 1m
  minRemaining: 1m
`
  expect(check(text)).toMatchInlineSnapshot(`
    "windows.yaml:6: spec.schedule.always: always can only be true; to close the window for good, delete it or make a MaintenanceFreeze
    windows.yaml:14: spec.exclusions[0]: it has 2 of from and to, cron, and ics; write exactly one
    windows.yaml:15: spec.exclusions[1].duration: duration goes with cron, and only with it
    windows.yaml:16: spec.exclusions[2]: it has 2 of from and to, cron, and ics; write exactly one
    windows.yaml:24: spec.minRemaining: 1m is not shorter than the duration, 1m; make it shorter
    "
  `)
})

test('a file that is no YAML, or holds none of them, says so', () => {
  expect(check('a: [')).toMatch(/^windows\.yaml:1: /)
  expect(check('kind: Deployment')).toBe('windows.yaml: it holds no MaintenanceWindow\n')
})
