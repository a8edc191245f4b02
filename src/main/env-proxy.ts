import http from 'node:http'

type Variables = Readonly<Record<string, string | undefined>>

interface ProxyLog {
  readonly warn: (fields: object, message: string) => void
}

const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const
const exceptions = ['NO_PROXY', 'no_proxy'] as const

/** Since Node 24.14, which the image has; the types are those of the oldest that runs it. */
const { setGlobalProxyFromEnv } = http as { readonly setGlobalProxyFromEnv?: (variables: Variables) => void }

/**
 * Slack, webhooks and Prometheus are asked through the proxy of the environment, which programs in Go obey unasked. Not by
 * NODE_USE_ENV_PROXY: with a proxy that Node cannot read it ends every program at its start, agents included. The API server
 * is asked without it, because its client has its own sockets.
 */
export function obeyProxy(env: Variables, log: ProxyLog, obey = setGlobalProxyFromEnv): void {
  const named = proxies.filter((name) => env[name])
  if (named.length === 0) return
  try {
    if (!obey) log.warn({ variables: named }, 'no proxy is used: Node can do that from 24.14 on')
    obey?.(Object.fromEntries([...named, ...exceptions].flatMap((name) => readable(name, env[name]))))
  } catch {
    // Neither the value nor what Node says of it: a proxy may have a password.
    log.warn({ variables: named }, 'no proxy is used, because one is no address; write http://HOST:PORT')
  }
}

/** Elsewhere the scheme may be left out. */
function readable(name: string, value: string | undefined): [string, string][] {
  if (!value) return []
  const isBare = (proxies as readonly string[]).includes(name) && !value.includes('://')
  return [[name, isBare ? `http://${value}` : value]]
}
