import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { takeDown } from '../src/dev/index.ts'
import { agentBench } from './agent.ts'
import { type Bench, type BenchOptions, formatResult, type Peer } from './bench.ts'
import { drainBench } from './drain.ts'
import { profilesBench } from './profiles.ts'
import { queueBench } from './queue.ts'
import { syncBench } from './sync.ts'
import { watchBench } from './watch.ts'

/** `npm run bench -- NAME [--peer NAME=PATH] [--json]`: the last line is one JSON object, always. */
const benches: Readonly<Record<string, Bench>> = {
  agent: agentBench,
  drain: drainBench,
  profiles: profilesBench,
  queue: queueBench,
  sync: syncBench,
  watch: watchBench,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peer: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '3' },
    nodes: { type: 'string' },
    pods: { type: 'string' },
    objects: { type: 'string' },
  },
})
const name = positionals[0] ?? ''
const bench = benches[name]
if (!bench) {
  console.error(`there is no bench '${name}'; there are: ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}

// Memory is there; garbage collection of the control plane would take time from whatever is measured, peers included.
process.env['GOGC'] ??= '400'

// Whoever interrupts a bench does not want to look for what it left behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void giveUp(128 + constants.signals[signal]))

const options: BenchOptions = {
  runs: whole('runs', values.runs),
  peers: values.peer.map(readPeer),
  numbers: Object.fromEntries(
    (['nodes', 'pods', 'objects'] as const).flatMap((key) =>
      values[key] === undefined ? [] : [[key, whole(key, values[key])]],
    ),
  ),
  log: (line) => {
    // With --json a reader may pipe stdout into a program; remarks go where they do no harm.
    if (values.json) console.error(line)
    else console.log(line)
  },
}
const result = await bench(options)
if (!values.json) console.log(formatResult(result))
console.log(JSON.stringify(result))

async function giveUp(exitCode: number): Promise<never> {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  for (const pid of children.split(' ').filter(Boolean).map(Number)) process.kill(pid, 'SIGKILL')
  await takeDown(`bench-${name}`, { working: options.log, finished: options.log })
  process.exit(exitCode)
}

function whole(flag: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  console.error(`--${flag}: '${text}' is not a whole number above 0`)
  process.exit(2)
}

function readPeer(text: string): Peer {
  const [peer = '', path = ''] = text.split('=', 2)
  if (peer && path) return { name: peer, path }
  console.error(`--peer: '${text}' must be NAME=PATH, for example --peer kapp=./kapp`)
  process.exit(2)
}
