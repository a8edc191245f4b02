import { describe, expect, it } from 'vitest'
import { identityOf } from './identity.ts'
import { compareVersions, installedKernels, newerKernel } from './kernel-version.ts'
import { permissionText, readPermission } from './permission.ts'

describe('who the agent is', () => {
  const token = (claims: unknown) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`
  it('stands in its token', () => {
    expect(identityOf(token({ 'kubernetes.io': { node: { name: 'n', uid: 'u' } } }))).toEqual({ name: 'n', uid: 'u' })
  })

  it.each([
    ['no token', ''],
    ['no claims', 'a.b.c'],
    ['no node', token({ 'kubernetes.io': { pod: { name: 'p' } } })],
    ['a node without a UID', token({ 'kubernetes.io': { node: { name: 'n' } } })],
  ])('is unknown with %s, and the token is not repeated', (_what, text) => {
    expect(() => identityOf(text)).toThrow(/needs a token that is bound to a pod/)
    if (text) expect(() => identityOf(text)).not.toThrow(new RegExp(text.slice(0, 20)))
  })
})

describe('kernels', () => {
  it('are told by their names', () => {
    const names = [
      'vmlinuz-6.1.0-18-amd64',
      'config-6.1.0-18-amd64',
      'vmlinuz',
      'vmlinuz-old',
      'kernel-5.14.0-1.el9.x86_64',
    ]
    expect(installedKernels(names)).toEqual(['6.1.0-18-amd64', '5.14.0-1.el9.x86_64'])
  })

  it.each([
    ['6.1.0-18-amd64', ['6.1.0-18-amd64'], undefined],
    ['6.1.0-9-amd64', ['6.1.0-10-amd64', '6.1.0-9-amd64'], '6.1.0-10-amd64'],
    ['6.1.0-9-amd64', ['6.9.0-1-cloud-amd64'], undefined],
    ['6.1.0-9-amd64', ['5.10.0-99-amd64'], undefined],
    ['6.1.0', [], undefined],
  ])('%s runs beside %s: %s is newer', (running, installed, newer) => {
    expect(newerKernel(running, installed)).toBe(newer)
  })

  it('are ordered by their numbers', () => {
    expect(compareVersions('6.10', '6.9')).toBeGreaterThan(0)
    expect(compareVersions('6.1', '6.1.0')).toBeLessThan(0)
    expect(compareVersions('6.1.0-1', '6.1.0-1')).toBe(0)
  })
})

it('a permission is read as it was written', () => {
  const permission = { request: 'r', requestUID: 'u', nodeUID: 'n', token: 7, bootID: 'b', grantedAt: 't' }
  expect(readPermission(permissionText(permission))).toEqual(permission)
})
