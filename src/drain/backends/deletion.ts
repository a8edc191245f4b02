import { resources } from '../../kube/index.ts'
import type { Backend } from './backend.ts'

/** No budget is asked by the server; whoever chooses this has looked at them, or was told not to. */
export const deletion: Backend = {
  ask: (client, { pod, gracePeriodSeconds }, signal) => {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    return client.delete(
      resources.pods,
      { name, namespace },
      { uid, signal, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
    )
  },
}
