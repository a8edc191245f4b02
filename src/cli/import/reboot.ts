import { durationPart } from './drain.ts'
import { carried, differs, notNeeded, type Part, type Seen, stopped, unreadable } from './finding.ts'
import { readGoInteger } from './go-values.ts'
import type { About } from './program.ts'
import type { Settings } from './settings.ts'

/** How kured sees that a reboot is needed, and how it reboots: values of our agent. */
export function rebootParts(settings: Settings, about: About): Part[] {
  return [
    ...detectionParts(settings, about.mountsSentinel),
    methodPart(settings.one('reboot-method')),
    commandPart(settings.one('reboot-command')),
    signalPart(settings.one('reboot-signal')),
    durationPart(settings.one('reboot-delay'), 'there is no delay without it either', (delay) => ({
      agent: { reboot: { delay } },
      finding: (seen) => carried(seen, `agent.reboot.delay: ${delay}`),
    })),
    metricsPart(settings, about),
  ]
}

function detectionParts(settings: Settings, mountsSentinel: boolean): Part[] {
  const [file, command] = [settings.one('reboot-sentinel'), settings.one('reboot-sentinel-command')]
  const check = command?.text ?? ''
  if (command && check !== '')
    return [
      { findings: [differs(command, checkText(check, mountsSentinel))], agent: { reboot: { files: [], check } } },
      ...(file ? [{ findings: [notNeeded(file, `kured looks at no file once there is ${command.as}`)] }] : []),
    ]
  const path = file?.text ?? ''
  return [
    ...(command ? [{ findings: [notNeeded(command, 'there is no command without it either')] }] : []),
    ...(file
      ? [
          path.startsWith('/')
            ? { findings: [carried(file, `agent.reboot.files: [${path}]`)], agent: { reboot: { files: [path] } } }
            : { findings: [stopped(file, 'it is not a full path; write for example /var/run/reboot-required')] },
        ]
      : []),
  ]
}

function checkText(command: string, mountsSentinel: boolean): string {
  return [
    'agent.reboot.check; exit codes other than 0 and 1 are an error that is shown, not a silent no',
    ...(/(^|[\s"'])!\s/.test(command)
      ? [
          'It turns the answer around, so that a tool that is missing means reboot: drop the ! and write agent.reboot.checkExit: 0=no,1=yes',
        ]
      : []),
    ...(mountsSentinel
      ? ["Newer charts of kured pass it only with useRebootSentinelHostPath: false: look at the DaemonSet's arguments"]
      : []),
  ].join('. ')
}

function methodPart(seen: Seen | undefined): Part {
  // What we would do ourselves, said so that nobody has to know it.
  const method = seen?.text ?? 'command'
  if (method !== 'command' && method !== 'signal')
    return { findings: seen ? [unreadable(seen, 'a method of kured; write command or signal')] : [] }
  return {
    findings: seen ? [carried(seen, `agent.reboot.method: ${method}`)] : [],
    agent: { reboot: { method } },
  }
}

function commandPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const { text: command = '' } = seen
  if (command.trim() === '')
    return { findings: [stopped(seen, 'it is empty; write for example /bin/systemctl reboot')] }
  return { findings: [carried(seen, 'agent.reboot.command')], agent: { reboot: { command } } }
}

function signalPart(seen: Seen | undefined): Part {
  if (!seen) return { findings: [] }
  const signal = readGoInteger(seen.text ?? '')
  if (signal === undefined || signal < 1 || signal > 64)
    return { findings: [unreadable(seen, 'the number of a signal; write for example 39')] }
  return { findings: [carried(seen, `agent.reboot.signal: ${signal}`)], agent: { reboot: { signal } } }
}

function metricsPart(settings: Settings, { metrics }: About): Part {
  const all = [...metrics, ...['metrics-host', 'metrics-port'].flatMap((flag) => settings.one(flag) ?? [])]
  if (all.length === 0) return { findings: [] }
  const text =
    'agent.kuredMetric: true keeps kured_reboot_required; the agent has an address of its own for all its metrics'
  return { findings: all.map((seen) => differs(seen, text)), agent: { kuredMetric: true } }
}
