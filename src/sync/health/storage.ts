import { textAt } from './fields.ts'
import { podsOf } from './pods-of.ts'
import { current, failed, inProgress, type KindRule } from './verdict.ts'

const provisioners = ['volume.kubernetes.io/storage-provisioner', 'volume.beta.kubernetes.io/storage-provisioner']

/**
 * A claim whose class waits for the first consumer stays Pending until a pod wants it, and nobody has asked a
 * provisioner for it. Its class would say so too, but reading classes is a right that few have.
 */
export const claimRule: KindRule = (object, { pods }) => {
  const phase = textAt(object, 'status', 'phase')
  if (phase === 'Bound') return current('it is bound')
  if (phase === 'Lost') return failed('Lost', 'its volume is lost')
  const isAskedFor = provisioners.some((name) => textAt(object, 'metadata', 'annotations', name) !== undefined)
  const hasClass = textAt(object, 'spec', 'storageClassName') !== undefined
  if (phase === 'Pending' && hasClass && !isAskedFor && podsOf(object, pods).length === 0) {
    return current('it is bound when the first pod wants it')
  }
  return inProgress('Unbound', 'it is not bound to a volume')
}
