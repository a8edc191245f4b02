import { agentPolicies } from './agent-policies.ts'
import { longestReason, releaseAnnotations, requestVerbs, verbAnnotations } from './annotations.ts'
import { group, version } from './kind.ts'
import { maintenanceBudget } from './maintenance-budget.ts'
import { maintenanceRequest } from './maintenance-request.ts'

/**
 * Rights that Kubernetes itself knows nothing about: verbs that no request carries, but that roles can name and that
 * the policies below ask for.
 */
export interface VirtualVerb {
  readonly resource: string
  readonly verb: string
  /** Completes "it lets somebody …". */
  readonly allows: string
}

const requests = maintenanceRequest.plural
const budgets = maintenanceBudget.plural

export const virtualVerbs: readonly VirtualVerb[] = [
  { resource: requests, verb: 'retry', allows: 'let a held request try again' },
  { resource: requests, verb: 'release', allows: 'give a node back without proof that it is well' },
  { resource: requests, verb: 'skip', allows: 'the same, and record that the work was skipped' },
  { resource: requests, verb: 'abort', allows: 'the same, and record that the work was aborted' },
  { resource: requests, verb: 'bypass', allows: 'ask for a node outside its windows: `spec.bypassWindow`' },
  {
    resource: requests,
    verb: 'forcedelete',
    allows:
      'have pods removed whatever their budgets say, or for good: `onDeadline: ForceDelete`, `backend: Delete`, `unmanaged: Evict`',
  },
  {
    resource: requests,
    verb: 'continue',
    allows: 'have work begin although pods are left: `onDeadline: Continue`',
  },
  { resource: requests, verb: 'prioritize', allows: 'go before others: `spec.priority` above 0' },
  { resource: budgets, verb: 'release', allows: 'free a slot that no request is left for' },
  { resource: requests, verb: 'answer', allows: 'take away verbs that are done; the controller has it' },
  { resource: budgets, verb: 'answer', allows: 'take away releases that are done; the controller has it' },
]

/** A CEL expression that must be true, and what a person reads when it is not. */
export interface Validation {
  readonly expression: string
  readonly reason: 'Forbidden' | 'Invalid'
  readonly message: string
  /** The same with names in it; `message` is for the case that this cannot be computed. */
  readonly messageExpression?: string
}

/** What a policy asks of each write to a resource. */
export interface PolicyDraft {
  readonly name: string
  /** Default: our own. */
  readonly api?: { readonly group: string; readonly version: string }
  readonly resource: string
  /** Whose writes, by a name and a CEL expression. Default: everybody's. */
  readonly onlyIf?: { readonly name: string; readonly expression: string }
  readonly variables: Readonly<Record<string, string>>
  readonly validations: readonly Validation[]
}

/** One policy, and under the same name its binding to the whole cluster. */
export interface AdmissionPolicy {
  readonly name: string
  readonly policy: object
  readonly binding: object
}

/** Who may ask for what beyond creating and changing objects. The same call gives the same text. */
export function admissionPolicies(): AdmissionPolicy[] {
  const drafts: readonly PolicyDraft[] = [
    {
      name: 'fettle-request-rights',
      resource: requests,
      variables: { ...change, ...verbVariables, ...specVariables },
      validations: [...verbRules, ...specRules],
    },
    {
      name: 'fettle-budget-rights',
      resource: budgets,
      variables: { ...change, ...releaseVariables },
      validations: releaseRules,
    },
    ...agentPolicies,
  ]
  return drafts.map(policy)
}

function policy({ name, api, resource, onlyIf, variables, validations }: PolicyDraft): AdmissionPolicy {
  return {
    name,
    policy: {
      // Doubt never disrupts: while this cannot be evaluated, nobody asks for anything.
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [api?.group ?? group],
            apiVersions: [api?.version ?? version],
            operations: ['CREATE', 'UPDATE'],
            resources: [resource],
          },
        ],
      },
      ...(onlyIf ? { matchConditions: [onlyIf] } : {}),
      variables: Object.entries(variables).map(([variable, expression]) => ({ name: variable, expression })),
      validations,
    },
    binding: { policyName: name, validationActions: ['Deny'] },
  }
}

const change = { isNew: 'oldObject == null' }
const user = 'request.userInfo.username'

/** What an annotation says, and what it said before; empty when it is not there. */
function annotationVariables(names: Readonly<Record<string, string>>): Record<string, string> {
  const valueIn = (object: string, key: string) => `${object}.metadata.?annotations[?'${key}'].orValue('')`
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, key]) => [
      [name, valueIn('object', key)],
      [`${name}Before`, `variables.isNew ? '' : ${valueIn('oldObject', key)}`],
    ]),
  )
}

function anyChanged(names: Readonly<Record<string, string>>): string {
  return Object.keys(names)
    .map((name) => `variables.${name} != variables.${name}Before`)
    .join(' || ')
}

/** Each costs a third of what one expression may: two at most in any of them. */
function mayOn(resource: string, verb: string): string {
  return `authorizer.group('${group}').resource('${resource}').name(object.metadata.name).check(${verb}).allowed()`
}

function howToGet(verb: string, resource: string, role: string): string {
  return `it needs the verb ${verb} on ${resource}.${group}, which ClusterRole ${role} has`
}

const verbVariables = {
  ...annotationVariables(verbAnnotations),
  isTouched: anyChanged(verbAnnotations),
  role: "variables.verb == 'abort' ? 'fettle-admin' : 'fettle-operator'",
}

const { verb: verbKey, reason: reasonKey, by: byKey } = verbAnnotations

const verbRules: readonly Validation[] = [
  {
    expression: `!variables.isTouched || variables.verb in ['', ${requestVerbs.map((verb) => `'${verb}'`).join(', ')}]`,
    reason: 'Invalid',
    message: `${verbKey} can be ${requestVerbs.slice(0, -1).join(', ')} or ${requestVerbs.at(-1)}`,
  },
  {
    expression: `!variables.isTouched || variables.verb == '' || ${mayOn(requests, 'variables.verb')}`,
    reason: 'Forbidden',
    message: `${verbKey} needs the verb of the same name on ${requests}.${group}`,
    messageExpression: `${user} + ' may not ${wordOf('variables.verb')} a request: ${howToGet(wordOf('variables.verb'), requests, wordOf('variables.role'))}'`,
  },
  {
    // Also when it becomes another verb: nobody overrules who may do more.
    expression: `variables.verbBefore in ['', variables.verb] || ${mayOn(requests, 'variables.verbBefore')} || ${mayOn(requests, "'answer'")}`,
    reason: 'Forbidden',
    message: `only who may set it, and the controller, may take ${verbKey} away; wait until the controller has done it`,
  },
  ...byRules('verb', { subject: verbKey, reason: reasonKey, by: byKey }),
]

/** A word of a message that is computed: closes the text, adds the word, opens it again. */
function wordOf(expression: string): string {
  return `' + ${expression} + '`
}

/** Who is named is who asks, and what is said can be recorded. */
function byRules(
  variable: string,
  names: { readonly subject: string; readonly reason: string; readonly by: string },
): Validation[] {
  return [
    {
      expression: `variables.${variable} != '' || (variables.reason in ['', variables.reasonBefore] && variables.by in ['', variables.byBefore])`,
      reason: 'Invalid',
      message: `${names.reason} and ${names.by} say more about ${names.subject}; set it as well`,
    },
    {
      expression: `!variables.isTouched || variables.${variable} == '' || variables.by in ['', ${user}]`,
      reason: 'Invalid',
      message: `${names.by} must be your own user name, or left out`,
      messageExpression: `'${names.by} must be your own user name, ' + ${user} + ', or left out'`,
    },
    {
      expression: `!variables.isTouched || (size(variables.reason) <= ${longestReason} && size(variables.by) <= ${longestReason})`,
      reason: 'Invalid',
      message: `${names.reason} and ${names.by} can have at most ${longestReason} characters`,
    },
  ]
}

const specVariables = {
  onDeadline: "object.spec.?drain.?onDeadline.orValue('')",
  backend: "object.spec.?drain.?backend.orValue('')",
  unmanaged: "object.spec.?drain.?unmanaged.orValue('')",
  bypassWindow: "object.spec.?bypassWindow.orValue('')",
  requestedBy: "object.spec.?requestedBy.orValue('')",
  priority: 'object.spec.?priority.orValue(0)',
  priorityBefore: 'variables.isNew ? 0 : oldObject.spec.?priority.orValue(0)',
}

// All but the priority can never change, so they are asked for once: later writes are the controller's.
const specRules: readonly Validation[] = [
  specRule("variables.bypassWindow == ''", 'bypass', 'spec.bypassWindow'),
  specRule("variables.onDeadline != 'ForceDelete'", 'forcedelete', 'spec.drain.onDeadline ForceDelete'),
  specRule("variables.backend != 'Delete'", 'forcedelete', 'spec.drain.backend Delete'),
  specRule("variables.unmanaged != 'Evict'", 'forcedelete', 'spec.drain.unmanaged Evict'),
  specRule("variables.onDeadline != 'Continue'", 'continue', 'spec.drain.onDeadline Continue'),
  {
    ...specRule('variables.priority <= 0', 'prioritize', 'a spec.priority above 0'),
    expression: `variables.priority <= 0 || variables.priority <= variables.priorityBefore || ${mayOn(requests, "'prioritize'")}`,
  },
  {
    expression: `!variables.isNew || variables.requestedBy in ['', ${user}]`,
    reason: 'Invalid',
    message: 'spec.requestedBy must be your own user name, or left out',
    messageExpression: `'spec.requestedBy must be your own user name, ' + ${user} + ', or left out'`,
  },
]

function specRule(isHarmless: string, verb: string, what: string): Validation {
  const remedy = `${howToGet(verb, requests, 'fettle-admin')}; or leave it out`
  return {
    expression: `!variables.isNew || ${isHarmless} || ${mayOn(requests, `'${verb}'`)}`,
    reason: 'Forbidden',
    message: `${what} is not for everybody: ${remedy}`,
    messageExpression: `${user} + ' may not set ${what}: ${remedy}'`,
  }
}

const releaseVariables = {
  ...annotationVariables(releaseAnnotations),
  isTouched: anyChanged(releaseAnnotations),
}

const releaseRules: readonly Validation[] = [
  {
    expression: `!variables.isTouched || variables.slot == '' || ${mayOn(budgets, "'release'")}`,
    reason: 'Forbidden',
    message: `${releaseAnnotations.slot}: ${howToGet('release', budgets, 'fettle-admin')}`,
    messageExpression: `${user} + ' may not free a slot: ${howToGet('release', budgets, 'fettle-admin')}'`,
  },
  {
    expression: `variables.slotBefore in ['', variables.slot] || ${mayOn(budgets, "'release'")} || ${mayOn(budgets, "'answer'")}`,
    reason: 'Forbidden',
    message: `only who may set it, and the controller, may take ${releaseAnnotations.slot} away; wait until the controller has done it`,
  },
  ...byRules('slot', { subject: releaseAnnotations.slot, ...releaseAnnotations }),
]
