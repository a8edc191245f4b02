import { describe, expect, test } from 'vitest'
import { obeyProxy } from './env-proxy.ts'

function obeyed(env: Readonly<Record<string, string>>, answer?: Error) {
  const [given, warnings]: [object[], string[]] = [[], []]
  const obey = (variables: object) => {
    if (answer) throw answer
    given.push(variables)
  }
  const log = { warn: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`) }
  obeyProxy(env, log, obey)
  return { given, warnings }
}

describe('the proxy of the environment', () => {
  test('is obeyed as it is written, with its exceptions', () => {
    const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.svc', PATH: '/bin' }
    expect(obeyed(env)).toEqual({ given: [{ HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.svc' }], warnings: [] })
  })

  test('may leave its scheme out', () => {
    expect(obeyed({ https_proxy: 'proxy:3128', http_proxy: 'socks5://proxy' }).given).toEqual([
      { https_proxy: 'http://proxy:3128', http_proxy: 'socks5://proxy' },
    ])
  })

  test.for([[{}], [{ HTTPS_PROXY: '' }], [{ NO_PROXY: '*' }]])('%o is none, and nothing is said', ([env]) => {
    expect(obeyed(env as Record<string, string>)).toEqual({ given: [], warnings: [] })
  })

  test('that cannot be read stops nobody, and what may be secret in it is not told', () => {
    const { warnings } = obeyed({ HTTPS_PROXY: 'http://user:canary@' }, new Error('Invalid URL http://user:canary@'))
    expect(warnings).toEqual([expect.stringContaining('write http://HOST:PORT {"variables":["HTTPS_PROXY"]}')])
    expect(warnings.join()).not.toContain('canary')
  })
})
