/** How a person speaks to the profiles of a node: annotations on it. */

/** As long as it is there, nothing is decided about the node; its value is the reason. */
export const pauseAnnotation = 'fettle.dev/profiles-paused'

/** Names of profiles, with `--` between them, that are taken back to operational; the controller removes them. */
export const abortAnnotation = 'fettle.dev/profile-abort'

/** Why; the controller takes it into the history, and removes it with the last of the names. */
export const abortReasonAnnotation = 'fettle.dev/profile-abort-reason'

export function abortsOf(text: string | undefined): readonly string[] {
  return (text ?? '').split('--').filter((name) => name !== '')
}
