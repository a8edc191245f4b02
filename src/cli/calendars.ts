import type { MaintenanceWindow } from '../api/index.ts'
import { type ConnectedClient, isForbidden, isNotFound, type KubeObject, resources } from '../kube/index.ts'
import { type CalendarOf, calendarIn } from '../queue/index.ts'

/** Where calendars are that are named without namespace, unless somebody installed Fettle elsewhere. */
export const usualNamespace = 'fettle-system'

/** The calendars that windows name, read once. */
export async function readCalendars(
  client: Pick<ConnectedClient, 'get'>,
  windows: readonly MaintenanceWindow[],
  ownNamespace: string,
): Promise<CalendarOf> {
  const read = new Map<string, ReturnType<CalendarOf>>()
  const placeOf = ({ namespace = ownNamespace, name, key }: Parameters<CalendarOf>[0]) => ({ namespace, name, key })
  for (const { configMapRef } of calendarsOf(windows)) {
    const { namespace, name, key } = placeOf(configMapRef)
    const where = `${namespace}/${name}`
    const found = await client
      .get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(resources.configMaps, { namespace, name })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined
        if (isForbidden(error)) return 'forbidden' as const
        throw error
      })
    read.set(
      `${where}/${key}`,
      found === 'forbidden'
        ? { problem: `you may not read ConfigMap ${where}; \`kubectl get mwin\` shows what the controller sees` }
        : calendarIn(found, where, key),
    )
  }
  return (ref) => {
    const { namespace, name, key } = placeOf(ref)
    return read.get(`${namespace}/${name}/${key}`) ?? { problem: `ConfigMap ${namespace}/${name} was not read` }
  }
}

export function calendarsOf(windows: readonly MaintenanceWindow[]) {
  return windows.flatMap(({ spec }) => spec.exclusions ?? []).flatMap(({ ics }) => ics ?? [])
}
