import { describe, expect, test } from 'vitest'
import { admissionPolicies, virtualVerbs } from './admission-policies.ts'
import { requestVerbs } from './annotations.ts'

interface Spec {
  readonly failurePolicy: string
  readonly variables: readonly { readonly name: string; readonly expression: string }[]
  readonly validations: readonly {
    readonly expression: string
    readonly message: string
    readonly messageExpression?: string
  }[]
}

const policies = admissionPolicies().map(({ name, policy, binding }) => ({ name, spec: policy as Spec, binding }))
const validations = policies.flatMap(({ spec }) => spec.validations)
const checks = /resource\('(\w+)'\)\.name\(object\.metadata\.name\)\.check\(([^)]*)\)/g

test('every policy refuses when it cannot be evaluated, and holds in the whole cluster', () => {
  for (const { name, spec, binding } of policies) {
    expect(spec.failurePolicy).toBe('Fail')
    expect(binding).toEqual({ policyName: name, validationActions: ['Deny'] })
  }
})

test('every virtual verb is asked for, and no other', () => {
  const asked = validations.flatMap(({ expression }) =>
    [...expression.matchAll(checks)].flatMap(([, resource = '', verb = '']) =>
      verb.startsWith('variables.')
        ? requestVerbs.map((one) => `${resource} ${one}`)
        : [`${resource} ${verb.slice(1, -1)}`],
    ),
  )
  expect([...new Set(asked)].sort()).toEqual(virtualVerbs.map(({ resource, verb }) => `${resource} ${verb}`).sort())
})

describe.each(policies)('$name', ({ spec }) => {
  // The server ends an expression at a cost of 1,000,000, and each question to the authorizer costs 350,000.
  test('asks the authorizer at most twice in one expression', () => {
    for (const { expression } of spec.validations) expect([...expression.matchAll(checks)].length).toBeLessThan(3)
  })

  test('uses only variables that come before', () => {
    const used = (text: string) => [...text.matchAll(/variables\.(\w+)/g)].map(([, name]) => name)
    const known = new Set<string>()
    for (const { name, expression } of spec.variables) {
      for (const one of used(expression)) expect(known).toContain(one)
      known.add(name)
    }
    for (const { expression, messageExpression = '' } of spec.validations)
      for (const one of used(`${expression} ${messageExpression}`)) expect(known).toContain(one)
  })

  test('has messages that fit in one line', () => {
    for (const { message } of spec.validations) expect(message).toMatch(/^\S.{0,250}$/)
  })
})
