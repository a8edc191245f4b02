/** Something the embedded cluster needs is not there, or said no. The message says what, and what still works. */
export class DevFault extends Error {
  readonly code = 'DevFault'
}
