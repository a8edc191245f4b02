import {
  type MaintenanceFreeze,
  type MaintenanceWindow,
  maintenanceFreezes,
  maintenanceWindows,
} from '../../api/index.ts'
import type { ResourceCache, SharedCaches } from '../../kube/index.ts'
import type { ReadWindow } from '../../time/index.ts'
import { type CalendarOptions, Calendars } from './calendars.ts'
import { type FreezesView, viewFreezes } from './decide-freezes.ts'
import {
  absentOutlook,
  type CalendarOf,
  type Outlook,
  outlookOf,
  readWindowObject,
  stateAt,
  type WindowState,
  writtenOutlook,
} from './decide-window.ts'

/** Windows and freezes as the controller sees them. */
export interface WindowViews {
  readonly windows: ResourceCache<MaintenanceWindow>
  readonly freezes: ResourceCache<MaintenanceFreeze>
  readonly calendarOf: CalendarOf
  /** A window's rules, read once and kept until it or a calendar changes. */
  readonly read: (window: MaintenanceWindow) => ReadWindow
  readonly outlook: (window: MaintenanceWindow, nowMs: number) => Outlook
  /** Calls when anything changed that windows or freezes depend on, time apart. Answers how to stop. */
  readonly subscribe: (wake: () => void) => () => void
}

/** All windows and freezes at one moment. */
export interface WindowsNow {
  /** Several windows are open when one of them is; no names is always open. */
  readonly stateFor: (names: readonly string[]) => WindowState
  readonly freezes: FreezesView
  /** When time alone changes any of it. */
  readonly nextChangeMs?: number
}

interface Kept {
  readonly key: string
  readonly read: ReadWindow
  outlook?: { readonly fromMs: number; readonly outlook: Outlook }
}

export function openWindowViews(caches: SharedCaches, options: CalendarOptions): WindowViews {
  const windows = caches.of<MaintenanceWindow>({ resource: maintenanceWindows })
  const freezes = caches.of<MaintenanceFreeze>({ resource: maintenanceFreezes })
  const handlers = new Set<() => void>()
  const changed = () => {
    for (const handler of handlers) handler()
  }
  const calendars = new Calendars(options, changed)
  const kept = new Map<string, Kept>()
  windows.subscribe(({ type, object, old }) => {
    if (type === 'deleted') kept.delete(object.metadata.uid ?? '')
    // Of a status nothing depends.
    else if (old?.metadata.generation === object.metadata.generation) return
    calendars.follow(windows.values())
    changed()
  })
  freezes.subscribe(({ type, object, old }) => {
    if (type === 'deleted' || old?.metadata.generation !== object.metadata.generation) changed()
  })

  const keep = (window: MaintenanceWindow): Kept => {
    const { uid = '', generation } = window.metadata
    const key = `${generation}/${calendars.version}`
    const known = kept.get(uid)
    if (known?.key === key) return known
    const fresh = { key, read: readWindowObject(window, calendars.calendarOf) }
    kept.set(uid, fresh)
    return fresh
  }
  return {
    windows,
    freezes,
    calendarOf: calendars.calendarOf,
    read: (window) => keep(window).read,
    outlook: (window, nowMs) => {
      const entry = keep(window)
      const known = entry.outlook
      // A clock that was set back must not be answered with a list that begins later.
      if (known && known.fromMs <= nowMs && nowMs < known.outlook.refreshAtMs) return known.outlook
      const outlook = outlookOf(window, entry.read, nowMs)
      entry.outlook = { fromMs: nowMs, outlook }
      return outlook
    },
    subscribe: (wake) => {
      handlers.add(wake)
      return () => handlers.delete(wake)
    },
  }
}

export function windowsNow(views: WindowViews, nowMs: number): WindowsNow {
  return windowsAt(views.windows.values(), views.freezes.values(), (window) => views.outlook(window, nowMs), nowMs)
}

/** The same from lists, for whoever asks once. */
export function windowsFrom(
  windows: Iterable<MaintenanceWindow>,
  freezes: Iterable<MaintenanceFreeze>,
  calendarOf: CalendarOf,
  nowMs: number,
  /** Windows whose calendars are not for the reader: then what the controller wrote into their status counts. */
  isHidden: (window: MaintenanceWindow) => boolean = () => false,
): WindowsNow {
  const look = (window: MaintenanceWindow) =>
    isHidden(window) ? writtenOutlook(window) : outlookOf(window, readWindowObject(window, calendarOf), nowMs)
  return windowsAt(windows, freezes, look, nowMs)
}

function windowsAt(
  windows: Iterable<MaintenanceWindow>,
  freezes: Iterable<MaintenanceFreeze>,
  look: (window: MaintenanceWindow) => Outlook,
  nowMs: number,
): WindowsNow {
  const outlooks = new Map([...windows].map((window) => [window.metadata.name ?? '', look(window)]))
  const frozen = viewFreezes(freezes, nowMs)
  const changes = [...outlooks.values()].flatMap((outlook) => {
    const { closesAtMs, opensAtMs } = stateAt([outlook], nowMs)
    return [closesAtMs ?? [], opensAtMs ?? []].flat()
  })
  const nextChangeMs = Math.min(...changes, frozen.nextChangeMs ?? Number.POSITIVE_INFINITY)
  // A thousand requests in line name the same few windows.
  const known = new Map<string, WindowState>()
  const stateFor = (names: readonly string[]): WindowState => {
    if (names.length === 0) return { isOpen: true }
    const key = names.join(' ')
    const state = known.get(key) ?? stateOf(names)
    known.set(key, state)
    return state
  }
  const stateOf = (names: readonly string[]) =>
    stateAt(
      names.map((name) => outlooks.get(name) ?? absentOutlook(name)),
      nowMs,
    )
  return {
    stateFor,
    freezes: frozen,
    ...(Number.isFinite(nextChangeMs) ? { nextChangeMs } : {}),
  }
}
