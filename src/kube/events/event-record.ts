import { microTime } from '../lease/micro-time.ts'
import type { KubeObject } from '../resource.ts'

/** The object that an event is about. */
export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
}

/** Something worth telling the people who look at the object. */
export interface EventNote {
  readonly regarding: EventSubject
  readonly related?: EventSubject
  readonly type: 'Normal' | 'Warning'
  /** Why, in UpperCamelCase, for programs: `BudgetExhausted`. */
  readonly reason: string
  /** What was done or tried, in UpperCamelCase: `Evict`. */
  readonly action: string
  /** A sentence for people. Cut to 1,024 bytes. */
  readonly note: string
}

export interface EventReporter {
  /** A qualified name: `fettle.dev/controller`. */
  readonly reportingController: string
  /** Which of its instances, usually the pod's name. */
  readonly reportingInstance: string
}

export interface EventObject extends KubeObject, EventNote, EventReporter {
  readonly eventTime: string
  readonly series?: EventSeries
}

export interface EventSeries {
  readonly count: number
  readonly lastObservedTime: string
}

/** Notes with the same key are one event that happened several times. */
export function eventKey({ regarding, related, type, reason, action, note }: EventNote): string {
  return JSON.stringify([subjectKey(regarding), related && subjectKey(related), type, reason, action, note])
}

export function subjectKey({ apiVersion, kind, namespace, name, uid }: EventSubject): string {
  return JSON.stringify([apiVersion, kind, namespace, name, uid])
}

/** The API server refuses a whole event for one field that is too long, so each is cut. */
export function eventObject(note: EventNote, reporter: EventReporter, name: string, firstMs: number): EventObject {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(note.regarding) },
    eventTime: microTime(firstMs * 1000),
    type: note.type,
    reason: cutToBytes(note.reason, 128),
    action: cutToBytes(note.action, 128),
    note: cutToBytes(note.note, 1024),
    regarding: note.regarding,
    ...(note.related ? { related: note.related } : {}),
    reportingController: reporter.reportingController,
    reportingInstance: cutToBytes(reporter.reportingInstance, 128),
  }
}

/** The same in the API of old, where the time of the last one stands beside their number. */
export function coreEventObject(
  { note, regarding, eventTime, reportingController, ...event }: EventObject,
  count: number,
  lastMs: number,
): KubeObject {
  const more = {
    involvedObject: regarding,
    message: note,
    firstTimestamp: eventTime,
    source: { component: reportingController },
    reportingComponent: reportingController,
    ...coreEventTally(count, lastMs),
  }
  return { ...event, ...more, apiVersion: 'v1' }
}

export function coreEventTally(count: number, lastMs: number) {
  return { count, lastTimestamp: microTime(lastMs * 1000) }
}

export function eventSeries(count: number, lastMs: number): EventSeries {
  return { count, lastObservedTime: microTime(lastMs * 1000) }
}

/** Events live in namespaces; those about cluster-wide objects are looked for in `default`, by kubectl too. */
export function eventNamespace(regarding: EventSubject): string {
  return regarding.namespace ?? 'default'
}

/** Names like `system:node` are fine for roles but not for events. */
export function eventName(regarding: EventSubject, suffix: string): string {
  const longest = 253 - suffix.length - 1
  const labels = regarding.name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, longest)
    .split('.')
    .map((label) => label.replace(/^-+|-+$/g, ''))
    .filter((label) => label !== '')
  return [...labels, suffix].join('.')
}

/** Never cuts inside a character. */
export function cutToBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most - 3))
  return `${text.slice(0, read)}…`
}
