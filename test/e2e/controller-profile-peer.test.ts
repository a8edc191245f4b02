import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { dataAnnotation } from '../../src/profiles/index.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { eventually, temporaryFolder } from '../support/e2e-cluster.ts'
import { fileOf, profile, profileNodes } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { patient, prepareQueue, type QueueGround, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

/** The program of maintenance-controller, if somebody has it. */
const peer = process.env['FETTLE_PEER_MAINTENANCE_CONTROLLER']
const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const

function startOriginal(context: TestContext, ground: QueueGround, folder: string) {
  const child = spawn(
    peer ?? '',
    [`--kubeconfig=${adminKubeconfig(ground.record)}`, '--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0'],
    { cwd: folder, stdio: 'ignore' },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  context.onTestFinished(stop)
  return { stop }
}

test.skipIf(peer === undefined)(
  'original, ours and the original again take one node through its maintenance, and tell each step once (needs FETTLE_PEER_MAINTENANCE_CONTROLLER)',
  async (context) => {
    const ground = await prepareQueue(context)
    await ground.setBudget({ max: 1 })
    const { addBare, change, untilState, dataOf } = profileNodes(ground)
    const slack = await startSlack(context)
    const hasLabel = (key: string) => ['hasLabel', { key }] as const
    const file = fileOf({
      check: { needed: hasLabel('needed'), approved: hasLabel('approved'), done: hasLabel('done') },
      trigger: { take: ['alterLabel', { key: 'approved', remove: true }] },
      notify: {
        chat: [
          'slack',
          { hook: `${slack.origin}/hook`, channel: 'c', message: '{{ .Node.Name }} {{ .State }}' },
          { type: 'periodic', config: { interval: '1h' } },
        ],
      },
      profiles: [
        profile(
          'p',
          [
            [op, 'needed', required],
            [required, 'approved', inside, 'take'],
            [inside, 'done', op],
          ],
          { [required]: { notify: 'chat' }, [inside]: { notify: 'chat' } },
        ),
      ],
    })
    const folder = temporaryFolder(context)
    mkdirSync(join(folder, 'config'))
    writeFileSync(join(folder, 'config/maintenance.yaml'), file)
    const node = await addBare('p', { labels: { needed: '' } })
    const heard = () => slack.heard.map(({ body }) => body.text)
    const settled = async (state: string) => {
      await untilState(node, state)
      await eventually(async () => {
        expect((await dataOf(node)).Profiles?.['p']).toMatchObject({ Current: state, Previous: state })
      }, patient)
    }

    const before = startOriginal(context, ground, folder)
    await settled(required)
    await eventually(() => expect(heard()).toEqual([`${node} ${required}`]), patient)
    await before.stop()
    const left = (await ground.node(node)).metadata.annotations?.[dataAnnotation]

    const ours = startProfiles(context, ground, file)
    await stays(async () => {
      expect((await ground.node(node)).metadata.annotations?.[dataAnnotation]).toBe(left)
    }, 2_000)
    await change(node, { labels: { approved: '' } })
    await settled(inside)
    await eventually(() => expect(heard()).toEqual([`${node} ${required}`, `${node} ${inside}`]), patient)
    await eventually(async () => {
      expect(Object.keys((await dataOf(node)).Notifications ?? {})).toEqual(['chat'])
      const { annotations } = (await ground.node(node)).metadata
      expect(annotations?.['fettle.dev/profile-progress']).not.toContain('pending')
    }, patient)
    await ours.stop()

    startOriginal(context, ground, folder)
    await stays(async () => {
      expect(heard()).toHaveLength(2)
    }, 3_000)
    await change(node, { labels: { needed: null, done: '' } })
    await settled(op)
    await stays(async () => {
      expect(heard()).toHaveLength(2)
    }, 3_000)
    expect((await ground.node(node)).metadata.labels).not.toHaveProperty('approved')
  },
  240_000,
)
