import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isNotFound, type KubeClient, type KubeObject, resources } from '../kube/index.ts'
import { loadConfig, type ProfilesConfig, plugins, problemText } from '../profiles/index.ts'
import { CliFault } from './context.ts'
import { profilesName } from './install-names.ts'

/** Where maintenance-controller looks for it. */
export const usualFile = 'config/maintenance.yaml'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

export interface FoundProfiles {
  /** A path, or the name of a ConfigMap. */
  readonly from: string
  readonly config: ProfilesConfig
  /** Names that the file asks for and that nothing here gives. */
  readonly unset: readonly string[]
}

/** The file that a person names, the one where it usually lies, or the one that the installation has. */
export async function findProfiles(
  client: KubeClient,
  flags: { readonly profiles?: string; readonly namespace: string },
): Promise<FoundProfiles> {
  const path = flags.profiles ?? (existsSync(usualFile) ? usualFile : undefined)
  if (path === undefined)
    return readProfiles(`ConfigMap ${flags.namespace}/${profilesName}`, await installed(client, flags))
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliFault(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  })
  return readProfiles(path, text)
}

async function installed(client: KubeClient, { namespace }: { readonly namespace: string }): Promise<string> {
  const ref = { namespace, name: profilesName }
  const found = await client.get<ConfigMap>(resources.configMaps, ref).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  const [text] = Object.values(found?.data ?? {})
  if (text === undefined)
    throw new CliFault(
      `no profiles are installed: there is no ConfigMap ${namespace}/${profilesName}, and no ${usualFile} here; name the file with --profiles`,
    )
  return text
}

/** A variable without which the file cannot be read: one that has something to fall back on is left alone. */
const variable = /\$\{([A-Za-z_]\w*)(?::\?[^}]*)?\}/g

/** An address, since that is what most secrets of a file are; it passes for other texts as well. */
const standIn = 'https://unset.invalid'

/** What only the controller's environment gives, such as a token, is not needed to look: a stand-in takes its place. */
export function readProfiles(
  from: string,
  text: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): FoundProfiles {
  const plain = loadConfig(text, { env, plugins })
  if (plain.config) return { from, config: plain.config, unset: [] }
  const unset = new Set([...text.matchAll(variable)].flatMap(([, name = '']) => (env[name] ? [] : [name])))
  const standIns = Object.fromEntries([...unset].map((name) => [name, standIn]))
  const { config, problems } = loadConfig(text, { env: { ...env, ...standIns }, plugins })
  if (config) return { from, config, unset: [...unset].sort() }
  const errors = problems.filter(({ severity }) => severity === 'error').map((problem) => problemText(from, problem))
  throw new CliFault(`${errors.join('\n')}\n${from} cannot be used; correct it, or set the variables that it names`)
}
