import { type CliContext, CliFault } from './context.ts'

/** Says what will happen, and has a person type the name of what it happens to. */
export async function confirmByName(
  context: CliContext,
  { what, name, isConfirmed }: { readonly what: string; readonly name: string; readonly isConfirmed: boolean },
): Promise<void> {
  context.err(`${what}\n`)
  if (isConfirmed) return
  const answer = await context.ask?.(`Type ${name} to go on: `)
  if (answer === undefined) throw new CliFault('nobody is here to confirm this: say --yes. Nothing was changed.')
  if (answer.trim() !== name) throw new CliFault(`that was not ${name}. Nothing was changed.`)
}
