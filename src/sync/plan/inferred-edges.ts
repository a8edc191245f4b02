import type { Json } from '../json.ts'
import { keyId } from '../key.ts'
import type { Ordered } from './explicit-edges.ts'
import { at, list, podReferences, podSpecOf } from './pod-references.ts'

const rbac = 'rbac.authorization.k8s.io'

/** What an object plainly needs although nobody wrote it down: pairs of ids, the second one first. */
export function* inferredEdges(declared: readonly Ordered[]): Generator<readonly [string, string]> {
  const ids = new Set(declared.map(({ key }) => keyId(key)))
  const definitions = new Map(
    declared
      .filter(({ key }) => key.group === 'apiextensions.k8s.io' && key.kind === 'CustomResourceDefinition')
      .map(({ key, body }) => [
        `${text(at(body, 'spec', 'group'))} ${text(at(body, 'spec', 'names', 'kind'))}`,
        keyId(key),
      ]),
  )
  for (const one of declared) {
    const id = keyId(one.key)
    const definition = definitions.get(`${one.key.group} ${one.key.kind}`)
    for (const target of [...needsOf(one), ...(definition === undefined ? [] : [definition])])
      if (target !== id && ids.has(target)) yield [id, target]
  }
}

function needsOf({ key, body }: Ordered): string[] {
  const { group, kind, namespace } = key
  const spec = podSpecOf(group, kind, body)
  if (spec) {
    return [...podReferences(spec)].map((reference) => {
      const [needed = '', name = ''] = reference.split(' ')
      return keyId({ group: '', kind: needed, namespace, name })
    })
  }
  if (group === rbac && kind.endsWith('RoleBinding')) {
    const role = { kind: text(at(body, 'roleRef', 'kind')), name: text(at(body, 'roleRef', 'name')) }
    return [keyId({ group, ...role, namespace: role.kind === 'Role' ? namespace : '' })]
  }
  if (group === 'networking.k8s.io' && kind === 'Ingress') {
    const paths = list(at(body, 'spec'), 'rules').flatMap((rule) => list(rule['http'], 'paths'))
    const backends = [at(body, 'spec', 'defaultBackend'), ...paths.map((path) => path['backend'])]
    return backends.map((backend) =>
      keyId({ group: '', kind: 'Service', namespace, name: text(at(backend, 'service', 'name')) }),
    )
  }
  return []
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
