import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type AlertsBlocker, type Blocker, blockerSecretName } from '../../src/api/index.ts'
import { certificateFolder, issueCertificates } from '../../src/dev/certificates.ts'
import { controlPlaneProgram, places } from '../../src/dev/index.ts'
import { type KubeObject, type ReadSecretKey, resources, secretKeys } from '../../src/kube/index.ts'
import { BlockerBoard } from '../../src/queue/blockers/index.ts'
import { node, request } from '../../src/queue/fixture-world.ts'
import { systemClock } from '../../src/time/index.ts'
import { prepareGround, type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import { hasPrometheus, type Prometheus, startPrometheus } from '../support/prometheus.ts'

const candidate = { node: node('a'), request: request('r', 'a') }
const noTokens: ReadSecretKey = () => Promise.resolve('there are no tokens')

/** What a board without memory learns of one blocker: a sentence, or nothing when the node may leave. */
async function heard(test: Test, blocker: Blocker, readToken = noTokens): Promise<string | undefined> {
  const stop = new AbortController()
  test.onTestFinished(() => stop.abort())
  const board = new BlockerBoard({ clock: systemClock, random: Math.random, readToken, signal: stop.signal })
  const come = new Promise<void>((resolve) => board.subscribe(resolve))
  await board.ask([candidate], [blocker], stop.signal)
  await come
  const verdict = board.answer(blocker, candidate.node, candidate.request)
  if (verdict === 'unasked') throw new Error('nobody was asked')
  return verdict?.message
}

async function addressOf(test: Test, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(!hasPrometheus)('a real Prometheus (needs one)', () => {
  let prometheus: Prometheus
  beforeAll(async () => {
    const ends: Parameters<TestContext['onTestFinished']>[0][] = []
    prometheus = await startPrometheus({ onTestFinished: (end) => void ends.unshift(end) })
    return async () => {
      for (const end of ends) await end({} as TestContext)
    }
  })
  const alerts = (more: Partial<AlertsBlocker> = {}): Blocker => ({
    name: 'calm',
    alerts: { url: prometheus.url, firingOnly: false, deadline: '30s', ...more },
  })

  test('blocks by its alerts, as the blocker says which', { timeout: 180_000 }, async (context) => {
    expect(await heard(context, alerts())).toBeUndefined()
    await prometheus.setAlerts(
      { alert: 'DiskFull', labels: { severity: 'warning' } },
      { alert: 'NodeSlow', isPending: true, labels: { severity: 'critical' } },
      { alert: 'Watchdog' },
    )
    const [disk, slow, watchdog] = ['DiskFull is firing', 'NodeSlow is pending', 'Watchdog is firing']
    const told: Record<string, string | undefined> = {}
    const expected: [Partial<AlertsBlocker>, string[]][] = [
      [{}, [disk, slow, watchdog]],
      [{ firingOnly: true }, [disk, watchdog]],
      [{ ignore: 'Watchdog' }, [disk, slow]],
      // The whole name has to fit, as in the rules of Prometheus.
      [{ ignore: 'Watch' }, [disk, slow, watchdog]],
      [{ ignore: 'Watchdog|Disk.*', firingOnly: true }, []],
      [{ only: 'Node.*' }, [slow]],
      [{ only: '.*(eSl).*' }, [slow]],
      [{ only: 'Node.*', firingOnly: true }, []],
      // Not JavaScript's kind of expression.
      [{ only: '(?i)diskfull' }, [disk]],
      [{ labels: { severity: 'critical' } }, [slow]],
      [{ labels: { severity: 'critical', alertstate: 'firing' } }, []],
      [{ only: 'No"Such\\\\Alert' }, []],
    ]
    for (const [more] of expected) told[JSON.stringify(more)] = await heard(context, alerts(more))
    expect(told).toEqual(
      Object.fromEntries(
        expected.map(([more, names]) => [
          JSON.stringify(more),
          names.length === 0 ? undefined : `blocker calm: alert ${names.join(', ')}`,
        ]),
      ),
    )
    await prometheus.setAlerts()
    expect(await heard(context, alerts())).toBeUndefined()
  })

  test('that cannot read the expression says so, and it blocks', async (context) => {
    expect(await heard(context, alerts({ only: '(' }))).toMatch(
      /^blocker calm cannot be judged: http:\S+ refuses the question: .*missing closing \)/,
    )
  })

  test('that is asked at a wrong path does not let anything pass', async (context) => {
    expect(await heard(context, alerts({ url: `${prometheus.url}/nowhere` }))).toContain(
      'answered 404 with something that is not a list of alerts',
    )
  })

  test('that is gone blocks', async (context) => {
    const other = await startPrometheus(context)
    expect(await heard(context, alerts({ url: other.url }))).toBeUndefined()
    await other.stop()
    expect(await heard(context, alerts({ url: other.url }))).toBe(
      `blocker calm cannot be judged: ${other.url} cannot be asked: ECONNREFUSED`,
    )
  })
})

describe('whoever only pretends to be Prometheus', () => {
  const empty = '{"status":"success","data":{"resultType":"vector","result":[]}}'

  test.for([
    ['too late', () => undefined, 'gave no answer within 1 s'],
    [
      'from elsewhere',
      (_, answer) => answer.writeHead(307, { location: '/' }).end(empty),
      'redirects are not followed',
    ],
    ['at length', (_, answer) => answer.end(`${empty}${' '.repeat(300_000)}`), 'answered with more than 256 KiB'],
    ['as an error', (_, answer) => answer.writeHead(503).end(empty), 'answered 503'],
    ['as a page', (_, answer) => answer.end('<html>please log in</html>'), 'not a list of alerts'],
  ] satisfies readonly [string, RequestListener, string][])(
    'and answers %s does not let anything pass',
    async ([, reply, message], context) => {
      const address = await addressOf(context, createHttpServer(reply))
      const alerts = { url: `http://${address}`, firingOnly: false, deadline: '1s' }
      expect(await heard(context, { name: 'calm', alerts })).toContain(message)
    },
  )
})

describe('a hook', () => {
  const token = 'c4n4ry-t0ken'

  test('gets the token of the Secret, and whatever it makes of it is not shown', async (context) => {
    const { admin, namespace } = await prepareGround(context)
    const address = await addressOf(
      context,
      createHttpServer(({ headers }, answer) =>
        answer.end(JSON.stringify({ allow: false, message: `hello ${headers.authorization}` })),
      ),
    )
    const readToken = secretKeys(admin, { namespace, name: blockerSecretName })
    const hook = { url: `http://${address}`, deadline: '30s', tokenSecretKey: 'board' }
    const cannot = `blocker board cannot be judged: http://${address} was not asked: Secret ${namespace}/${blockerSecretName}`
    expect(await heard(context, { name: 'board', hook }, readToken)).toBe(`${cannot} does not exist`)
    await admin.create<KubeObject>(resources.secrets, {
      metadata: { name: blockerSecretName, namespace },
      stringData: { board: `${token}\n` },
    } as KubeObject)
    expect(await heard(context, { name: 'board', hook }, readToken)).toBe('blocker board: hello Bearer [redacted]')
    expect(await heard(context, { name: 'board', hook: { ...hook, tokenSecretKey: 'other' } }, readToken)).toBe(
      `${cannot} has no key other`,
    )
  })

  test('behind https is trusted by the certificates of the blocker alone', async (context) => {
    const folder = temporaryFolder(context)
    const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
    const [issued] = await issueCertificates({ folder }, program, [
      { name: 'hook', commonName: 'hook', ips: ['127.0.0.1'] },
    ])
    const caBundle = readFileSync(join(certificateFolder({ folder }), 'ca.crt'), 'utf8')
    const address = await addressOf(
      context,
      createHttpsServer({ cert: issued?.certPem, key: issued?.keyPem }, (_, answer) => answer.end('{"allow": true}')),
    )
    const hook = { url: `https://${address}`, deadline: '30s' }
    expect(await heard(context, { name: 'board', hook })).toContain('cannot be asked: ')
    expect(await heard(context, { name: 'board', hook: { ...hook, caBundle } })).toBeUndefined()
    expect(await heard(context, { name: 'board', hook: { ...hook, caBundle: 'nonsense' } })).toContain(
      'cannot be asked: ',
    )
  })
})
