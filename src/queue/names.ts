/** Keeps a request until its node is given back. */
export const finalizer = 'fettle.dev/give-back'

/** Keeps the budget until no slot is held: it is the ledger. */
export const ledgerFinalizer = 'fettle.dev/ledger'

/** All requests of a node share one slot, and so one cordon. */
export const cordonOwner = 'queue'

export const controllerManager = 'fettle-controller'
