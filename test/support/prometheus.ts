import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prometheusProgram, unpackPrometheus } from '../../scripts/prometheus.ts'
import { places } from '../../src/dev/index.ts'
import { eventually, type Test, temporaryFolder } from './e2e-cluster.ts'

/** An alert that is always true: firing at once, or pending for longer than any test. */
export interface AlertRule {
  readonly alert: string
  readonly isPending?: boolean
  readonly labels?: Readonly<Record<string, string>>
}

export interface Prometheus {
  readonly url: string
  /** Replaces the rules, and waits until exactly these alerts are seen. */
  setAlerts(...rules: readonly AlertRule[]): Promise<void>
  stop(): Promise<void>
}

export const hasPrometheus = prometheusProgram(places().cache) !== undefined

/** A real Prometheus that scrapes nothing and evaluates rules each second. */
export async function startPrometheus(test: Test, options: { readonly port?: number } = {}): Promise<Prometheus> {
  await unpackPrometheus(places().cache)
  const folder = temporaryFolder(test)
  const [config, rules] = [join(folder, 'prometheus.yml'), join(folder, 'rules.yml')]
  writeFileSync(config, JSON.stringify({ global: { evaluation_interval: '1s' }, rule_files: [rules] }))
  writeFileSync(rules, rulesText([]))
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const child = spawn(
    prometheusProgram(places().cache) ?? '',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-lifecycle',
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await Promise.race([ended, sleep(10_000).then(() => child.kill('SIGKILL'))])
    await ended
  }
  test.onTestFinished(stop)
  await eventually(() => fetchOk(`${url}/-/ready`), { withinMs: 60_000, everyMs: 100 })
  return {
    url,
    stop,
    async setAlerts(...wanted) {
      writeFileSync(rules, rulesText(wanted))
      await fetchOk(`${url}/-/reload`, 'POST')
      const expected = wanted.map(({ alert, isPending }) => `${alert} ${isPending ? 'pending' : 'firing'}`).sort()
      await eventually(
        async () => {
          const seen = await activeAlerts(url)
          if (seen.join() !== expected.join()) throw new Error(`Prometheus has ${seen.join(', ') || 'no alerts'}`)
        },
        { withinMs: 60_000, everyMs: 200 },
      )
    },
  }
}

/** JSON is YAML as well. */
function rulesText(rules: readonly AlertRule[]): string {
  return JSON.stringify({
    groups: [
      {
        name: 'e2e',
        rules: rules.map(({ alert, isPending, labels = {} }) => ({
          alert,
          expr: 'vector(1)',
          labels,
          ...(isPending ? { for: '1h' } : {}),
        })),
      },
    ],
  })
}

async function activeAlerts(url: string): Promise<string[]> {
  const answer = await fetchOk(`${url}/api/v1/query?query=ALERTS`)
  const { data } = (await answer.json()) as { data: { result: { metric: Record<string, string> }[] } }
  return data.result.map(({ metric }) => `${metric['alertname']} ${metric['alertstate']}`).sort()
}

async function fetchOk(url: string, method = 'GET'): Promise<Response> {
  const answer = await fetch(url, { method })
  if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${await answer.text()}`)
  return answer
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
