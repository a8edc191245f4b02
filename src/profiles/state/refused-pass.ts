import type { Pass } from './pass.ts'

/** What is left of a pass when the API server refuses to store it: every profile stays, because of that. */
export function refusedPass(pass: Pass, cause: string): Pass {
  const failure = { stage: 'write', cause } as const
  const profiles = pass.result.profiles.map((each) => ({ ...each, next: each.state, failure: each.failure ?? failure }))
  return {
    ...pass,
    result: { ...pass.result, profiles },
    events: profiles.flatMap(({ name: profile, state, failure: why }) =>
      why.stage === 'write' ? [{ is: 'Failed', profile, state, failure: why }] : [],
    ),
    entering: [],
  }
}
