import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endProcess, isAlive, ProcessFault, run, runOk, signalProcess, startDetached, startTicksOf } from './process.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fettle-process-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const start = (...argv: string[]) => startDetached(argv, { logPath: join(folder, 'log') })

describe('running a command to its end', () => {
  it('gives its exit code and both outputs', async () => {
    expect(await run(['sh', '-c', 'echo out; echo err >&2; exit 3'])).toEqual({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  it('shows arguments to no shell', async () => {
    expect((await run(['printf', '%s', '$HOME; `id` *'])).stdout).toBe('$HOME; `id` *')
  })

  it('hands over input, variables and folder', async () => {
    const said = await run(['sh', '-c', 'cat; echo $WORD; pwd'], { input: 'in\n', env: { WORD: 'w' }, cwd: folder })
    expect(said.stdout).toBe(`in\nw\n${folder}\n`)
  })

  it("finds administrators' programs whatever the path of the user", async () => {
    expect((await run(['sh', '-c', 'echo $PATH'])).stdout).toMatch(/:\/usr\/sbin:\/sbin\n$/)
  })

  it('tells each line as it comes', async () => {
    const lines: string[] = []
    await run(['sh', '-c', 'printf "one\\ntw"; sleep 0.05; printf "o\\n"'], { onLine: (line) => lines.push(line) })
    expect(lines).toEqual(['one', 'two'])
  })

  it.each([
    ['that is not there', () => run(['no-such-program-here']), /no-such-program-here/],
    ['that has no name', () => run([]), /no command was named/],
    ['that takes too long', () => run(['sleep', '9'], { deadlineMs: 50 }), /sleep: not finished after 0.05 s/],
    [
      'that is not wanted any more',
      () => run(['sleep', '9'], { signal: AbortSignal.timeout(50) }),
      /stopped on request/,
    ],
    ['that must succeed and does not', () => runOk(['sh', '-c', 'echo why >&2; exit 4']), /exit code 4\nwhy/],
  ])('raises a fault for a command %s', async (_what, work, message) => {
    const fault = await work().catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(ProcessFault)
    expect((fault as Error).message).toMatch(message)
  })
})

describe('a command that is stopped', () => {
  it('takes along whatever it started, also what ignores the first request', async () => {
    const marker = join(folder, 'alive')
    const child = `trap "" INT TERM; while :; do echo x >>${marker}; sleep 0.02; done`
    const work = run(['sh', '-c', `sh -c '${child}' & wait`], { signal: AbortSignal.timeout(200) })
    await expect(work).rejects.toThrow('stopped on request')
    const size = readFileSync(marker, 'utf8').length
    await sleep(100)
    expect(readFileSync(marker, 'utf8')).toHaveLength(size)
  })

  it('does not even start when it was stopped before', async () => {
    await expect(run(['touch', join(folder, 'file')], { signal: AbortSignal.abort() })).rejects.toThrow('stopped')
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a process that outlives its starter', () => {
  it('writes to its log and leads a session of its own', async () => {
    const identity = await start('sh', '-c', 'echo hello; sleep 60')
    while (readFileSync(join(folder, 'log'), 'utf8') === '') await sleep(10)
    const fields = readFileSync(`/proc/${identity.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')
    expect(Number(fields?.[3])).toBe(identity.pid)
    await endProcess(identity, { group: true })
  })

  it('raises a fault when it cannot start', async () => {
    await expect(start('/no/such/program')).rejects.toThrow('could not be started')
  })

  it('is known by id and start, so a later process with its id is never hit', async () => {
    const identity = await start('sleep', '60')
    const impostor = { ...identity, startTicks: identity.startTicks - 1 }
    expect(isAlive(impostor)).toBe(false)
    expect(signalProcess(impostor, 'SIGKILL')).toBe(false)
    await endProcess(impostor)
    expect(isAlive(identity)).toBe(true)
    await endProcess(identity)
    expect(isAlive(identity)).toBe(false)
    expect(startTicksOf(identity.pid)).toBeUndefined()
  })

  it.each([
    ['ignores the request', ['sh', '-c', 'trap "" TERM; while :; do sleep 0.02; done']],
    ['is frozen', ['sleep', '60']],
  ])('ends even if it %s', async (what, argv) => {
    const identity = await start(...argv)
    await sleep(50)
    if (what === 'is frozen') signalProcess(identity, 'SIGSTOP')
    await endProcess(identity, { graceMs: 100 })
    expect(isAlive(identity)).toBe(false)
  })
})
