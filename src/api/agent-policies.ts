import type { PolicyDraft, Validation } from './admission-policies.ts'
import { maintenanceRequest } from './maintenance-request.ts'
import { requestStatus } from './request-status.ts'
import { type StructuralSchema, structuralSchema } from './structural-schema.ts'

// What an agent may write. Whoever breaks into a node has its agent's token, and a role cannot say "only your own node":
// these policies do, by the claims about the node that Kubernetes puts into the token of a pod.

const account = 'fettle-agent'
const leaseNamespace = 'fettle-nodes'

/** An installation can lie in any namespace; the names of accounts and namespaces hold no colon. */
const onlyIf = {
  name: 'is-an-agent',
  expression: `request.userInfo.username.startsWith('system:serviceaccount:') && request.userInfo.username.endsWith(':${account}')`,
}

const variables = { node: claim('node-name'), nodeUID: claim('node-uid') }

function claim(name: string): string {
  return `request.userInfo.?extra[?'authentication.kubernetes.io/${name}'][?0].orValue('')`
}

const hasClaims: Validation = {
  expression: "variables.node != '' && variables.nodeUID != ''",
  reason: 'Forbidden',
  message: 'the token names no node; an agent uses the token of its pod, which Kubernetes binds to the node',
}

function ownNode(request: string, does: string): Validation {
  const [nodeName, nodeUID] = [`${request}.spec.nodeName`, `${request}.spec.nodeUID`]
  const message = `an agent ${does} its own node only`
  return {
    expression: `${nodeName} == variables.node && ${nodeUID} == variables.nodeUID`,
    reason: 'Forbidden',
    message,
    messageExpression: `'${message}: ' + variables.node + ' with UID ' + variables.nodeUID + ', not ' + ${nodeName} + ' with UID ' + ${nodeUID}`,
  }
}

/** All that an agent says in a new request. Every other field, also one that is new in a later version, is left alone. */
const said = ['nodeName', 'nodeUID', 'source', 'reason', 'work']
const metadataLeftAlone = ['annotations', 'labels', 'ownerReferences', 'finalizers', 'generateName']

function leftAlone(path: string, schema: StructuralSchema): Validation {
  return {
    expression: isUntouched(`object.${path}`, schema),
    reason: 'Forbidden',
    message: `${path} is not for an agent to set; leave it out`,
  }
}

/** Absent, or as the server fills it in. */
function isUntouched(path: string, { default: value, properties }: StructuralSchema): string {
  if (value === undefined) return `!has(${path})`
  if (!properties) return `${path} == ${JSON.stringify(value)}`
  return Object.entries(properties)
    .map(([name, field]) => isUntouched(`${path}.${name}`, field))
    .join(' && ')
}

const createRules: readonly Validation[] = [
  {
    expression: 'oldObject == null',
    reason: 'Forbidden',
    message: 'an agent changes no request; what it has to say belongs into status.host',
  },
  ownNode('object', 'asks for'),
  {
    expression: "[object.spec.source.kind, object.spec.work] in [['File', 'Host'], ['Reboot', 'Reboot']]",
    reason: 'Forbidden',
    message: 'an agent asks with source.kind File and work Host, or with source.kind Reboot and work Reboot',
  },
  {
    // One digit: what a node can create is bounded.
    expression:
      "object.metadata.name.startsWith(variables.stem) && size(object.metadata.name) == size(variables.stem) + 1 && object.metadata.name.matches('[0-9]$')",
    reason: 'Forbidden',
    message: 'an agent names its requests <node>-file-<digit> and <node>-reboot-<digit>',
    messageExpression:
      "'the name of this request must be ' + variables.stem + ' and one digit, not ' + object.metadata.name",
  },
  ...Object.entries(structuralSchema(maintenanceRequest.spec).properties ?? {})
    .filter(([field]) => !said.includes(field))
    .map(([field, schema]) => leftAlone(`spec.${field}`, schema)),
  ...metadataLeftAlone.map((field) => leftAlone(`metadata.${field}`, {})),
]

/** One rule for each field but the report: which of them are there is the schema's to say. */
const statusRules: readonly Validation[] = [
  ownNode('oldObject', 'reports on'),
  ...Object.entries(structuralSchema(requestStatus).properties ?? {})
    .filter(([field]) => field !== 'host')
    .map(
      ([field, schema]): Validation => ({
        expression: `${fieldOf('object', field, schema)} == ${fieldOf('oldObject', field, schema)}`,
        reason: 'Forbidden',
        message: `an agent reports in status.host; status.${field} belongs to the controller`,
      }),
    ),
]

/** A default is there as soon as anything of a status is, so the first report brings it along. */
function fieldOf(object: string, field: string, { default: value }: StructuralSchema): string {
  const optional = `${object}.?status.?${field}`
  return value === undefined ? optional : `${optional}.orValue(${JSON.stringify(value)})`
}

const leaseRules: readonly Validation[] = [
  {
    expression: `request.namespace == '${leaseNamespace}' && object.metadata.name == variables.node`,
    reason: 'Forbidden',
    message: `an agent keeps one Lease, in namespace ${leaseNamespace} and with the name of its node`,
    messageExpression: `'an agent keeps one Lease, ${leaseNamespace}/' + variables.node + ', not ' + request.namespace + '/' + object.metadata.name`,
  },
  // A finalizer would keep the namespace, and so the installation, from ever going.
  ...['ownerReferences', 'finalizers'].map((field) => leftAlone(`metadata.${field}`, {})),
]

const requests = maintenanceRequest.plural

export const agentPolicies: readonly PolicyDraft[] = [
  {
    name: 'fettle-agent-requests',
    resource: requests,
    onlyIf,
    variables: {
      ...variables,
      stem: "variables.node + (object.spec.source.kind == 'Reboot' ? '-reboot-' : '-file-')",
    },
    validations: [hasClaims, ...createRules],
  },
  {
    name: 'fettle-agent-reports',
    resource: `${requests}/status`,
    onlyIf,
    variables,
    validations: [hasClaims, ...statusRules],
  },
  {
    name: 'fettle-agent-leases',
    api: { group: 'coordination.k8s.io', version: 'v1' },
    resource: 'leases',
    onlyIf,
    variables,
    validations: [hasClaims, ...leaseRules],
  },
]
