import { describe, expect, test } from 'vitest'
import { agentPolicies } from './agent-policies.ts'
import { maintenanceRequest } from './maintenance-request.ts'
import { requestStatus } from './request-status.ts'

/** The expression that refuses with a message which names this field. */
function ruleFor(policy: string, field: string): string | undefined {
  const { validations } = agentPolicies.find(({ name }) => name === policy) ?? {}
  return validations?.find(({ message }) => new RegExp(`(^|\\s)${field}\\s`).test(message))?.expression
}

test('every policy speaks of agents only, and first of all refuses a token without a node', () => {
  for (const { onlyIf, validations } of agentPolicies) {
    expect(onlyIf?.expression).toContain(':fettle-agent')
    expect(validations[0]).toMatchObject({ expression: "variables.node != '' && variables.nodeUID != ''" })
  }
})

describe('a new request', () => {
  test.each([
    ['spec.priority', 'object.spec.priority == 0'],
    ['spec.want', 'object.spec.want == "Out"'],
    ['spec.service', 'object.spec.service.cordon == true && object.spec.service.drain == true'],
    ['spec.drain', '!has(object.spec.drain)'],
    ['metadata.finalizers', '!has(object.metadata.finalizers)'],
  ])('leaves %s as the server fills it in, or out', (field, expression) => {
    expect(ruleFor('fettle-agent-requests', field)).toBe(expression)
  })

  test('says nothing but what an agent has to say, whatever fields there are', () => {
    const free = Object.keys(maintenanceRequest.spec.shape).filter(
      (field) => ruleFor('fettle-agent-requests', `spec.${field}`) === undefined,
    )
    expect(free).toEqual(['nodeName', 'nodeUID', 'source', 'reason', 'work'])
  })
})

describe('a report', () => {
  test.each([
    ['slot', 'object.?status.?slot == oldObject.?status.?slot'],
    // The server adds it to the first report by itself.
    ['phase', 'object.?status.?phase.orValue("Queued") == oldObject.?status.?phase.orValue("Queued")'],
  ])('does not touch %s', (field, expression) => {
    expect(ruleFor('fettle-agent-reports', `status.${field}`)).toBe(expression)
  })

  test('changes the host and nothing else, whatever fields there are', () => {
    const free = Object.keys(requestStatus.shape).filter(
      (field) => ruleFor('fettle-agent-reports', `status.${field}`) === undefined,
    )
    expect(free).toEqual(['host'])
  })
})
