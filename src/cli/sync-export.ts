import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { exportNamespace, type Key, manifestText, portsOf, rbacFor, survey } from '../sync/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import type { CliContext } from './context.ts'
import { addSyncOptions, type SyncFlags, withSync } from './sync-options.ts'

interface ExportFlags extends ClusterFlags {
  readonly namespace: string
  readonly to?: string
  readonly secrets: boolean
}

export function addSyncExportCommands(sync: Command, context: CliContext): void {
  addClusterOptions(sync.command('export'))
    .description('a namespace as manifests, ready to be committed: what people made, not what controllers made of it')
    .requiredOption('-n, --namespace <name>', 'namespace to export')
    .option('--to <folder>', 'one file for each object; to the terminal if not given')
    .option('--secrets', 'with Secrets and their values; without, they are only named', false)
    .action((flags: ExportFlags) =>
      withCluster(flags, async (client) => {
        const { objects, secrets, unknown } = await exportNamespace(
          client,
          flags.namespace,
          flags.secrets,
          context.nowMs(),
          context.signal,
        )
        if (flags.to !== undefined) await mkdir(flags.to, { recursive: true })
        const files = exportFiles(objects.map(({ key }) => key))
        for (const [index, object] of objects.entries()) {
          const text = manifestText(object.body, { hidesSecrets: false })
          if (flags.to === undefined) context.out(`---\n${text}`)
          else await writeFile(join(flags.to, files[index] ?? ''), text)
        }
        if (flags.to !== undefined) context.out(`${objects.length} files in ${flags.to}\n`)
        for (const { group, kind = '*', why } of unknown)
          context.err(`${kind}${group === '' ? '' : `.${group}`} could not be read and is left out: ${why}\n`)
        for (const name of secrets) context.err(`Secret ${name} was left out; --secrets exports its values too\n`)
      }),
    )

  addSyncOptions(sync.command('rbac'))
    .description('the least rights that carry out what git declares, as manifests')
    .option('--service-account <name>', 'who gets them', 'fettle-sync')
    .action((flags: SyncFlags & { readonly serviceAccount: string }) =>
      withSync(flags, context, async (parts) => {
        const found = await survey(portsOf(parts), parts.settings, parts.permits, context.signal)
        for (const object of rbacFor(found, parts.settings.policy, flags.serviceAccount))
          context.out(`---\n${manifestText(object, { hidesSecrets: true })}`)
      }),
    )
}

/** One name for each, in their order. Names that differ in what a file cannot say are told apart by a number. */
export function exportFiles(keys: readonly Key[]): readonly string[] {
  const taken = new Set<string>()
  return keys.map((key) => {
    const name = fileOf(key)
    let file = `${name}.yaml`
    for (let count = 2; taken.has(file); count++) file = `${name}-${count}.yaml`
    taken.add(file)
    return file
  })
}

/** Some file systems do not tell large letters from small ones, and some know no colons. */
function fileOf({ group, kind, name }: Key): string {
  const whole = group === '' ? kind : `${kind}.${group}`
  return `${whole}-${name.replaceAll(/[^a-zA-Z0-9.-]/g, '_')}`.toLowerCase()
}
