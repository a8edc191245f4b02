import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { bareProgram } from './bare-program.ts'
import type { CliContext } from './context.ts'
import { addVersionCommand, versionsOf, versionText } from './version.ts'

test('three lines, for people', () => {
  expect(versionText({ fettle: '1.2.3', node: '22.11.0', timeZoneData: '2026a' })).toBe(
    'Fettle          1.2.3\nNode            22.11.0\ntime zone data  2026a\n',
  )
})

test('a Node that reads the zones of the system does not tell their version', () => {
  expect(versionsOf({ node: '22.11.0' })).toEqual({
    fettle: manifest.version,
    node: '22.11.0',
    timeZoneData: 'unknown',
  })
})

async function said(...args: readonly string[]): Promise<string> {
  let text = ''
  const context: Pick<CliContext, 'out' | 'err'> = {
    out: (more) => {
      text += more
    },
    err: () => undefined,
  }
  const program = bareProgram(context as CliContext)
  addVersionCommand(program, context as CliContext)
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if ((error as { readonly code?: string }).code !== 'commander.version') throw error
  })
  return text
}

test('programs get the same as JSON, and the flag of old stays one number', async () => {
  expect(JSON.parse(await said('version', '-o', 'json'))).toEqual(versionsOf(process.versions))
  expect(await said('version')).toBe(versionText(versionsOf(process.versions)))
  expect(await said('--version')).toBe(`${manifest.version}\n`)
})
