import { readFile } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import type { CliContext } from './context.ts'
import { type Imported, type InputFile, importSettings } from './import/import-settings.ts'
import { kured } from './import/kured.ts'
import { kustodian } from './import/kustodian.ts'
import { InputFault } from './import/located.ts'
import { importJson, importTable, importValues, importYaml } from './import/print.ts'
import type { ImportedProgram } from './import/program.ts'

type Format = 'yaml' | 'values' | 'json'

/** `fettle import`: the settings of another program, in our words. */
export function addImportCommands(program: Command, context: CliContext): void {
  const imports = program.command('import').description('take over the settings of another program; asks no cluster')
  for (const one of [kured, kustodian])
    imports
      .command(one.executable)
      .description(
        `print the settings of ${one.name} as objects and values of Fettle, and what became of each; exit code 1 when one has no counterpart, 2 when a file cannot be read`,
      )
      .argument('<files...>', 'values of its chart, or its DaemonSet as YAML or JSON; - is standard input')
      .addOption(
        new Option(
          '-o, --output <format>',
          "yaml: objects to apply; values: only those of Fettle's chart; json: all in one",
        )
          .choices(['yaml', 'values', 'json'])
          .default('yaml'),
      )
      .action((files: readonly string[], { output }: { readonly output: Format }) =>
        runImport(one, files, output, context),
      )
}

async function runImport(
  program: ImportedProgram,
  files: readonly string[],
  format: Format,
  context: CliContext,
): Promise<void> {
  try {
    const inputs: InputFile[] = []
    for (const file of files) inputs.push(await readInput(file, context.signal))
    const imported = importSettings(program, inputs)
    context.out(printers[format](imported))
    if (format !== 'json') context.err(importTable(imported))
    if (imported.findings.some(({ outcome }) => outcome === 'refused')) context.exitCode(1)
  } catch (error) {
    if (error instanceof InputFault) context.exitCode(2)
    throw error
  }
}

const printers: Readonly<Record<Format, (imported: Imported) => string>> = {
  yaml: importYaml,
  values: importValues,
  json: importJson,
}

async function readInput(file: string, signal: AbortSignal): Promise<InputFile> {
  if (file === '-') return { file: 'stdin', text: await textOf(addAbortSignal(signal, process.stdin)) }
  try {
    return { file, text: await readFile(file, { encoding: 'utf8', signal }) }
  } catch (error) {
    signal.throwIfAborted()
    throw new InputFault(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
