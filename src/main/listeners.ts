import type { Address } from '../cli/index.ts'
import type { ProfilesLog } from '../profiles/index.ts'
import { type HttpOptions, type HttpServer, startHttp } from '../server/index.ts'

/** One for each port that is asked for, however many roles it has. All of them answer the same. */
export async function startListeners(
  asked: readonly Address[],
  pages: Omit<HttpOptions, 'host' | 'port'>,
  log: Pick<ProfilesLog, 'warn'>,
): Promise<HttpServer[]> {
  const places = asked.filter(({ port }, index) => asked.findIndex((other) => other.port === port) === index)
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
