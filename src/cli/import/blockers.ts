import {
  type BudgetDraft,
  carried,
  type Finding,
  failed,
  fitsBudget,
  notNeeded,
  type Part,
  type Seen,
  stopped,
  unreadable,
} from './finding.ts'
import { readGoBoolean } from './go-values.ts'
import { readSelector } from './selector.ts'
import type { Settings } from './settings.ts'

type Blockers = NonNullable<BudgetDraft['blockers']>

/** As many as a budget takes, with one left for alerts. */
const mostSelectors = 31

export function podBlockers(settings: Settings): Part {
  const findings: Finding[] = []
  const blockers: Blockers[number][] = []
  for (const seen of settings.all('blocking-pod-selector')) {
    const selector = readSelector(seen.text ?? '')
    const name = `kured-pods-${blockers.length + 1}`
    const candidate = { name, pods: { selector: selector ?? {}, onThisNode: true } }
    if (!selector || !fitsBudget({ blockers: [candidate] }))
      findings.push(unreadable(seen, 'a selector with =, !=, in, notin or a bare label; write such a one'))
    else if (blockers.length === mostSelectors)
      findings.push(stopped(seen, `a budget has at most ${mostSelectors + 1} blockers; join selectors with in (…)`))
    else {
      blockers.push(candidate)
      findings.push(carried(seen, `spec.blockers: ${name}`))
    }
  }
  return { findings, ...(blockers.length > 0 ? { budget: { blockers } } : {}) }
}

const noAddress = [
  'it is no plain address, or alert-filter-regexp is too long; write http://host:port/path without user, password and ?,',
  'and let a blocker send a token by tokenSecretKey',
].join(' ')

export function alertBlockers(settings: Settings): Part {
  const url = settings.one('prometheus-url')
  const filter = settings.one('alert-filter-regexp')
  const [matchOnly, firingOnly] = ['alert-filter-match-only', 'alert-firing-only'].map((flag) => settings.one(flag))
  const others = [filter, matchOnly, firingOnly].flatMap((seen) => seen ?? [])
  if (!url || url.text === '')
    return {
      findings: [...(url ? [url] : []), ...others].map((seen) =>
        notNeeded(seen, 'without prometheus-url it says nothing'),
      ),
    }
  const problems: Finding[] = []
  const isOn = (seen: Seen | undefined) => {
    const value = seen ? readGoBoolean(seen.text ?? '') : false
    if (seen && value === undefined) problems.push(unreadable(seen, 'true or false; write one of them'))
    return value ?? false
  }
  const name = 'kured-alerts'
  const use = isOn(matchOnly) ? 'only' : 'ignore'
  // kured looks for the expression anywhere in the name; here it has to fit the whole.
  const names = filter ? { [use]: `.*(${filter.text}).*` } : {}
  const blockers = [{ name, alerts: { url: url.text ?? '', ...names, firingOnly: isOn(firingOnly) } }]
  if (!fitsBudget({ blockers })) problems.push(stopped(url, noAddress))
  if (problems.length > 0) return failed([url, ...others], problems, 'there is no blocker for alerts')
  const carriedTo = (seen: Seen | undefined, field: string) =>
    seen ? [carried(seen, `spec.blockers: ${name}${field}`)] : []
  return {
    budget: { blockers },
    findings: [
      ...carriedTo(url, ''),
      ...carriedTo(filter, `.${use}`),
      ...(matchOnly && !filter
        ? [notNeeded(matchOnly, 'without alert-filter-regexp it says nothing')]
        : carriedTo(matchOnly, `.${use}`)),
      ...carriedTo(firingOnly, '.firingOnly'),
    ],
  }
}
