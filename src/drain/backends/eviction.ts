import type { Backend } from './backend.ts'

/** The server asks the budgets and takes one from what they have to give, in one step. */
export const eviction: Backend = {
  ask: (client, { pod, gracePeriodSeconds }, signal) => {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    return client.evict(
      { name, namespace },
      { uid, signal, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
    )
  },
}
