import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { adminKubeconfig, packageFolder } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually, type Ground, prepareGround, type Test } from '../support/e2e-cluster.ts'
import { Election, leaseTimes } from '../support/e2e-leaders.ts'

/** A leader in a process of its own. Says every few milliseconds whether it believes in its term, and writes when it no longer does. */
function programOf(ground: Ground, election: Election): string {
  return `
    import { connect, fencedClient, loadKubeconfig, resources, runAsLeader } from './src/kube/index.ts'
    import { systemClock as clock } from './src/time/index.ts'
    const client = connect(await loadKubeconfig({ path: ${JSON.stringify(adminKubeconfig(ground.record))} }), { component: 'e2e' })
    const { signal } = new AbortController()
    const options = { client, clock, random: Math.random, identity: 'frozen', signal, ...${JSON.stringify({ lease: election.lease, ...leaseTimes })} }
    await runAsLeader(options, async (term) => {
      for (;;) {
        const at = Date.now()
        const isSafe = term.isSafe()
        console.log(JSON.stringify({ at, isSafe, token: term.token }))
        if (!isSafe) break
        await clock.sleep(10)
      }
      const object = { metadata: { name: 'by-a-ghost', namespace: ${JSON.stringify(ground.namespace)} } }
      await fencedClient(client, term).create(resources.configMaps, object).catch((error) => console.log(JSON.stringify({ refused: error.code })))
      process.exit(0)
    })
  `
}

interface Line {
  readonly at?: number
  readonly isSafe?: boolean
  readonly token?: number
  readonly refused?: string
}

function startLeader(test: Test, program: string): { readonly child: ChildProcess; readonly lines: Line[] } {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program], {
    cwd: packageFolder(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  test.onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines: Line[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line))
  return { child, lines }
}

test('a leader whose process was frozen knows on its first look that its term is over, and its writes are refused', async (context) => {
  const ground = await prepareGround(context)
  const election = new Election(ground)
  await election.installLease()
  const { child, lines } = startLeader(context, programOf(ground, election))
  await eventually(() => expect(lines.length).toBeGreaterThan(10), { withinMs: 20_000 })
  election.enter('other', ground.admin)
  await sleep(leaseTimes.renewEveryMs)
  expect(election.terms).toEqual([])

  child.kill('SIGSTOP')
  await eventually(() => expect(election.terms).toHaveLength(1), { withinMs: leaseTimes.leaseDurationMs + 10_000 })
  const heir = election.terms[0]
  await sleep(200)
  child.kill('SIGCONT')
  await eventually(() => expect(lines.at(-1)?.refused).toBe('NotLeader'), { withinMs: 15_000 })

  const beliefs = lines.filter((line) => line.at !== undefined)
  const lastSafeAt = Math.max(...beliefs.filter((line) => line.isSafe).map((line) => line.at ?? 0))
  expect(lastSafeAt).toBeLessThan(heir?.beganAt ?? 0)
  expect(heir?.token).toBeGreaterThan(beliefs[0]?.token ?? 0)
  expect(heir?.term.isSafe()).toBe(true)
  await expect(
    ground.admin.get(resources.configMaps, { name: 'by-a-ghost', namespace: ground.namespace }),
  ).rejects.toMatchObject({ code: 'NotFound' })
})
