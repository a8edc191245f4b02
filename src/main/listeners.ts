import type { Address } from '../cli/index.ts'
import type { ProfilesLog } from '../profiles/index.ts'
import { type HttpOptions, type HttpServer, startHttp } from '../server/index.ts'

/** One for each place that is asked for, however many roles it has. All of them answer the same. */
export async function startListeners(
  asked: readonly Address[],
  pages: Omit<HttpOptions, 'host' | 'port'>,
  log: Pick<ProfilesLog, 'warn'>,
): Promise<HttpServer[]> {
  const { places, widened } = placesFor(asked)
  for (const { host, port } of widened)
    log.warn({ host, port }, 'this port is asked for on all addresses, too: what was meant for one is answered on all')
  const listeners: HttpServer[] = []
  for (const { host, port, isOptional } of places)
    try {
      listeners.push(await startHttp({ ...pages, host, port }))
    } catch (error) {
      if (!isOptional) throw error
      const why = error instanceof Error ? error.message : String(error)
      log.warn(
        { host, port, why },
        'health is not answered here, where maintenance-controller would; say --health-addr',
      )
    }
  return listeners
}

/** Where to listen, so that all are answered, and which of them are answered in more places than they say. */
export function placesFor(asked: readonly Address[]): { readonly places: Address[]; readonly widened: Address[] } {
  const ports = new Set(asked.flatMap(({ port, isOptional }) => (isOptional ? [] : [port])))
  // Nobody asked for an optional one: whoever did may want this port for itself.
  const wanted = asked.filter(({ port, isOptional }) => !isOptional || !ports.has(port))
  const places = wanted.map((place) => wideFor(place, wanted) ?? place)
  const isSame = (one: Address, other?: Address) => one.host === other?.host && one.port === other.port
  return {
    places: places.filter((place, index) => places.findIndex((other) => isSame(place, other)) === index),
    widened: wanted.filter((place, index) => !isSame(place, places[index])),
  }
}

/** One that listens on all addresses, beside which no other can be listened on. The one of IPv6 has those of IPv4, too. */
function wideFor({ host, port }: Address, wanted: readonly Address[]): Address | undefined {
  const at = (everywhere: string) => wanted.find((other) => other.port === port && other.host === everywhere)
  return at('::') ?? (host.includes(':') ? undefined : at('0.0.0.0'))
}
