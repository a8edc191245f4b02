export type InventoryFaultCode =
  /** The namespace in which it is stored does not exist. */
  | 'NoNamespace'
  /** What is stored cannot be read, or a part of it is missing. */
  | 'Damaged'
  /** The name is taken by something that is no inventory of this Sync. */
  | 'Foreign'
  /** A newer version of this program wrote it. */
  | 'NewerFormat'
  /** Somebody else wrote it since it was read. */
  | 'Conflict'
  /** A later writer has begun. */
  | 'Deposed'
  /** It was not read, or a write failed since: what is stored is not known. */
  | 'NotLoaded'

/** What is remembered of a Sync cannot be used. Nothing may be deleted then. */
export class InventoryFault extends Error {
  override readonly name = 'InventoryFault'
  readonly code: InventoryFaultCode

  constructor(code: InventoryFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
