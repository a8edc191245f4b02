import type { CheckResult, PassResult } from './state/result.ts'

/** A line of the log. */
export interface Detail {
  readonly fields: object
  readonly message: string
}

/** What was found at a look, answer by answer: for nodes whose label asks for it. */
export function* detailsOf({ problem, unknown, profiles }: PassResult): Generator<Detail> {
  if (problem !== undefined) yield { fields: { problem }, message: 'details: nothing is decided' }
  if (unknown.length > 0) yield { fields: { unknown }, message: 'details: the file does not have these profiles' }
  for (const { name: profile, state, next, waitsFor, failure, transitions } of profiles) {
    yield { fields: { profile, state, next, waitsFor, failure }, message: 'details: a profile' }
    for (const { target, isPassed, chain } of transitions) {
      const { expression, isPassed: doChecksPass, error } = chain
      const transition = { profile, state, target }
      yield {
        fields: { ...transition, isTaken: isPassed, doChecksPass, expression, error },
        message: 'details: a transition',
      }
      for (const check of chain.checks)
        yield { fields: { ...transition, ...answerOf(check) }, message: 'details: a check' }
    }
  }
}

function answerOf({ name: check, type, isPassed, info, error }: CheckResult): object {
  return { check, type, isPassed, info, error }
}
