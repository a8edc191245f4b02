import { optional, required } from '../../fields.ts'
import type { FieldProblem } from '../../plugin.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { querySamples } from './prometheus-query.ts'
import { readExpression } from './value-expression.ts'

const onEmptyChoices = ['error', 'pass', 'fail']

export const prometheusInstant = checkPlugin({
  type: 'prometheusInstant',
  about: 'An expression over the one sample that Prometheus answers to a query is true.',
  fields: {
    url: required('text', 'of Prometheus, such as http://prometheus.monitoring:9090'),
    query: optional('text', 'what it is asked: PromQL that gives one sample'),
    expr: optional('text', 'what must be true of the sample, which is called value: value < 5'),
    token: optional(
      'text',
      'a bearer token for Prometheus; better a variable of the environment than the token itself',
    ),
    onEmpty: optional('text', 'what an answer without samples means: error, pass or fail', 'error'),
  },
  problems({ url, query, expr, token, onEmpty }) {
    const problems: FieldProblem[] = []
    const add = (field: string, message: string) => problems.push({ field, message })
    const address = addressOf(url)
    // The address may hold a password: it is not repeated.
    if (!address) add('url', 'it is no address; write for example http://prometheus.monitoring:9090')
    if (query === '') add('query', 'it is missing; write what to ask Prometheus, such as up{job="node"}')
    const read = readExpression(expr)
    if (expr === '') add('expr', 'it is missing; write what must be true of the sample, such as value < 5')
    else if ('problem' in read) add('expr', read.problem)
    if (!/^[\x21-\x7e]*$/.test(token)) add('token', 'it has characters that no header can hold; store it anew')
    if (token !== '' && address && (address.username !== '' || address.password !== ''))
      add('token', 'the url has a user name or password already; write only one of the two')
    if (!onEmptyChoices.includes(onEmpty))
      add('onEmpty', `${JSON.stringify(onEmpty)} is none of ${onEmptyChoices.join(', ')}`)
    return problems
  },
  warnings({ expr }) {
    const read = readExpression(expr)
    return 'problem' in read || read.warning === undefined ? [] : [{ field: 'expr', message: read.warning }]
  },
  create({ url, query, expr, token, onEmpty }) {
    const address = addressOf(url)
    const read = readExpression(expr)
    if (!address) throw new Error('the url is no address')
    if ('problem' in read) throw new Error(read.problem)
    const shown = withoutSecrets([token, decodeURIComponent(address.password), ...queryValues(address)])
    const authorization = authorizationOf(token, address)
    const base = { url: `${address.origin}${address.pathname}`, query, expr }
    return {
      async check({ nowMs, doors, signal }) {
        const { values, warnings } = await querySamples(
          { url: address, query, nowMs, authorization, shown },
          doors.clock,
          signal,
        )
        const warns = warnings.length > 0 ? { warns: warnings } : {}
        const [value] = values
        if (values.length > 1)
          throw new Error(`the query gives ${values.length} samples; write one that gives exactly one, with sum or max`)
        if (value === undefined) {
          if (onEmpty === 'error')
            throw new Error('the query gives no sample; check the metric, or say with onEmpty what that means')
          return answer(onEmpty === 'pass', { ...base, ...warns, reason: 'the query gives no sample' })
        }
        return answer(read.expression.isTrue(value), {
          ...base,
          value: Number.isFinite(value) ? value : String(value),
          ...warns,
        })
      },
    }
  },
})

function addressOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const address = new URL(text)
  return address.protocol === 'https:' || address.protocol === 'http:' ? address : undefined
}

function authorizationOf(token: string, { username, password }: URL): string | undefined {
  if (token !== '') return `Bearer ${token}`
  if (username === '' && password === '') return undefined
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`
}

/** Of one or two letters nobody makes a secret, and without them no sentence would be left. */
const shortestSecret = 3

/** Values of the query part, as they are written and as they are meant: some take a token there. */
function queryValues({ search, searchParams }: URL): string[] {
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  // One without = is a key here, and may be a secret all the same.
  const meant = [...searchParams].map(([key, value]) => value || key)
  return [...written, ...meant].filter(({ length }) => length >= shortestSecret)
}

const longestShown = 200

/** One line of bounded length: whoever was sent a secret might send it back. */
function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  // The longest first: what is left of it when a part was masked would be shown.
  const inOrder = [...new Set(secrets)].sort((a, b) => b.length - a.length)
  return (text) => {
    let masked = text
    for (const secret of inOrder) if (secret !== '') masked = masked.replaceAll(secret, '[redacted]')
    const line = masked.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
