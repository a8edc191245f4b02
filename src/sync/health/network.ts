import type { Json, JsonObject } from '../json.ts'
import { conditionOf, conditionText } from './condition.ts'
import { at, listAt, textAt } from './fields.ts'
import { current, failed, inProgress, type KindRule } from './verdict.ts'

/** An address of its own inside the cluster does not make a load balancer. */
export const serviceRule: KindRule = (object) =>
  textAt(object, 'spec', 'type') === 'LoadBalancer' ? byAddress(object) : current('it exists')

export const ingressRule: KindRule = (object) => byAddress(object)

export const gatewayRule: KindRule = (object) => {
  const accepted = conditionOf(object, 'Accepted')
  if (accepted?.status === 'False') return failed(accepted.reason ?? 'NotAccepted', conditionText('Accepted', accepted))
  const programmed = conditionOf(object, 'Programmed')
  if (programmed?.status === 'True') return current('it is programmed')
  return inProgress(
    'NotProgrammed',
    programmed ? conditionText('Programmed', programmed) : 'no controller has taken it',
  )
}

/** A route belongs to each of its parents apart. */
export const routeRule: KindRule = (object) => {
  const wanted = listAt(object, 'spec', 'parentRefs')
  const parents = listAt(object, 'status', 'parents').map((parent) => ({
    name: parentName(at(parent, 'parentRef')),
    accepted: conditionOf(object, 'Accepted', listAt(parent, 'conditions')),
  }))
  const refused = parents.find(({ accepted }) => accepted?.status === 'False')
  if (refused?.accepted) {
    const { name, accepted } = refused
    return failed(accepted.reason ?? 'NotAccepted', `parent ${name}: ${conditionText('Accepted', accepted)}`)
  }
  const taken = new Set(parents.filter(({ accepted }) => accepted?.status === 'True').map(({ name }) => name))
  const missing = wanted.map(parentName).filter((name) => !taken.has(name))
  if (missing.length === 0) return current(`accepted by ${taken.size} of ${wanted.length} parents`)
  return inProgress('NotAccepted', `not accepted yet by ${missing.join(', ')}`)
}

const parentName = (reference: Json | undefined): string =>
  [textAt(reference, 'namespace'), textAt(reference, 'name'), textAt(reference, 'sectionName')]
    .filter((part) => part !== undefined)
    .join('/')

function byAddress(object: JsonObject) {
  const [first] = listAt(object, 'status', 'loadBalancer', 'ingress')
  const address = textAt(first, 'ip') ?? textAt(first, 'hostname')
  return address === undefined ? inProgress('NoAddress', 'it has no address yet') : current(`its address is ${address}`)
}
