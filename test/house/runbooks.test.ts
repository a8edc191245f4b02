import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import { quietProgram } from '../../scripts/generate/cli-reference.ts'
import { runbooks } from '../../scripts/generate/runbooks.ts'
import { maintenanceBudget, objectSchema, type StructuralSchema } from '../../src/api/index.ts'
import { settingsOf } from '../../src/queue/index.ts'
import { durationMs } from '../../src/time/index.ts'

/** Who reads these pages is in trouble already: what they name has to be there. */

const folder = resolve(import.meta.dirname, '../../docs/runbooks')
const index = 'README.md'
const files = readdirSync(folder).sort()
const budget = objectSchema(maintenanceBudget)
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

test('every reason has a page, and every page a reason', () => {
  const wanted = runbooks().map(({ file }) => file)
  expect(wanted.length).toBeGreaterThan(20)
  expect(files).toEqual([index, ...wanted].sort())
})

test.each(runbooks())('$file is about $state $reason, is in the index, and is short', ({ state, reason, file }) => {
  expect(read(file).split('\n')[0]).toBe(`# ${state}: ${reason}`)
  expect(read(index)).toContain(`[${reason}](${file})`)
  for (const heading of ['What is certain', 'See more', 'What to do', 'Do not', 'Next time'])
    expect(read(file)).toContain(`\n## ${heading}\n`)
  expect(read(file).split('\n').length).toBeLessThan(50)
})

test.each(files)('the links of %s lead somewhere', (file) => {
  expect([...read(file).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => linkFault(file, target))).toEqual([])
})

function linkFault(file: string, target: string): string[] {
  const [path = '', anchor] = target.split('#')
  const page = path === '' ? join(folder, file) : resolve(dirname(join(folder, file)), path)
  if (!existsSync(page)) return [`${target}: there is no such file`]
  if (anchor === undefined) return []
  const anchors = [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
  return anchors.includes(anchor) ? [] : [`${target}: there is no such heading`]
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

describe('commands', () => {
  test.each(files)('in %s are understood', (file) => {
    const { lines, mentions } = commandsIn(read(file))
    expect(lines.length).toBeGreaterThan(0)
    expect([...lines.flatMap(parseFault), ...mentions.flatMap(mentionFault)]).toEqual([])
  })

  test.each([
    ['fettle node explode node-7', /unknown command 'explode'/],
    ['fettle explain', /missing required argument/],
    ['fettle node retry node-7', /required option '--reason/],
    ['fettle node retry node-7 --reason "why" --force', /unknown option '--force'/],
    ['fettle status now', /too many arguments/],
  ])('would not be understood: %s', (line, fault) => {
    expect(parseFault(line).join()).toMatch(fault)
  })

  test('that are only named are looked for, too', () => {
    expect(mentionFault('fettle node retry')).toEqual([])
    expect(mentionFault('fettle node undo').join()).toMatch(/unknown command 'undo'/)
  })
})

/** Lines of code blocks stand as they are typed. In a sentence a command may be named without its arguments. */
function commandsIn(page: string): { readonly lines: string[]; readonly mentions: string[] } {
  const block = /^```\w*\n(.*?)^```$/gms
  const lines = [...page.matchAll(block)].flatMap(([, text = '']) => text.split('\n'))
  const prose = page.replaceAll(block, '')
  return {
    lines: lines.filter((line) => line.startsWith('fettle ')),
    mentions: [...prose.matchAll(/`(fettle [^`]+)`/g)].map(([, mention = '']) => mention),
  }
}

function mentionFault(mention: string): string[] {
  let command: Command | undefined = quietProgram()
  for (const word of wordsOf(mention)) command = command?.commands.find((one) => one.name() === word)
  return command ? [] : parseFault(mention)
}

/** Has the program itself read it, with nothing behind its commands. */
function parseFault(line: string): string[] {
  const program = quietProgram()
  disarm(program)
  try {
    program.parse(wordsOf(line), { from: 'user' })
    return []
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return [`${line}: ${error.message}`]
  }
}

function disarm(command: Command): void {
  if (command.commands.length === 0) command.action(() => undefined)
  for (const child of command.commands) disarm(child)
}

/** What a shell makes of it, without the name of the program. */
function wordsOf(line: string): string[] {
  const words = line.replace(/\s#.*$/, '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)
  return [...words].map(([, double, single, plain]) => double ?? single ?? plain ?? '').slice(1)
}

describe('settings', () => {
  const named = files.flatMap((file) =>
    [...read(file).matchAll(/`(spec\.[\w.]+)` \(default `([^`]+)`\)/g)].map(([, path = '', said = '']) => ({
      file,
      path,
      said,
    })),
  )

  test('are named with their defaults', () => {
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ path, said }) => !isDefault(path, said))).toEqual([])
  })

  test('with another default would be found', () => {
    expect(isDefault('spec.defaults.drain.deadline', '31m')).toBe(false)
    expect(isDefault('spec.max', '2')).toBe(false)
    expect(isDefault('spec.maximum', '1')).toBe(false)
  })
})

/** Of the budget: from its schema, or, for what a request may say as well, from the program. */
function isDefault(path: string, said: string): boolean {
  const field = path
    .split('.')
    .reduce<StructuralSchema | undefined>((schema, name) => schema?.properties?.[name], budget)
  if (!field) return false
  if (field.default !== undefined) return said === [field.default].flat().map(String).join(', ')
  const { drain, workMs, returnMs, maxReboots } = settingsOf({ spec: {} } as Parameters<typeof settingsOf>[0], {
    onNodeLost: 'Hold',
  })
  const ours: Readonly<Record<string, string | number>> = {
    'drain.deadline': drain.deadlineMs,
    'drain.onDeadline': drain.onDeadline,
    'drain.unmanaged': drain.unmanaged,
    'deadlines.work': workMs,
    'deadlines.return': returnMs,
    'deadlines.maxReboots': String(maxReboots),
  }
  const value = ours[path.replace('spec.defaults.', '')]
  return value === (typeof value === 'number' ? durationMs(said) : said)
}
