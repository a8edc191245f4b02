/** Keeps a request until its node is given back. */
export const finalizer = 'fettle.dev/give-back'

/** All requests of a node share one slot, and so one cordon. */
export const cordonOwner = 'queue'

export const controllerManager = 'fettle-controller'
