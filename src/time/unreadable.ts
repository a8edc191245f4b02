/** A text that says nothing we can act on. Becomes a problem of the window that holds it. */
export class Unreadable extends Error {
  readonly code = 'Unreadable'
}
