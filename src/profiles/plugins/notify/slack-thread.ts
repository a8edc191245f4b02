import {
  type CallOptions,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type Lease,
  type ObjectRef,
  resources,
  Secret,
} from '../../../kube/index.ts'
import { isAddress } from '../../../notify/index.ts'
import { type ConfigOf, optional, required } from '../../fields.ts'
import type { FieldProblem, Notifier, NotifyContext, Plugin, PluginDoors } from '../../plugin.ts'
import { type MessageText, messageOf, templateProblems, templateWarnings, writeTexts } from './message-template.ts'
import { NotSent } from './not-sent.ts'
import { postMessage } from './slack-api.ts'

const fields = {
  token: required('text', 'token of the app, which may chat:write; a secret'),
  channel: required('text', 'channel, as #ops'),
  title: required('text', 'template of the message that begins a thread'),
  message: required('text', 'template of the messages in the thread'),
  leaseName: required('text', 'name of the Lease that remembers the thread'),
  leaseNamespace: required('text', 'namespace of that Lease'),
  period: required('duration', 'how long a thread is answered to before a new one begins'),
  raw: optional('flag', 'whether marks of Slack in the texts count, such as <@U123>; else & < > show as they are'),
  apiURL: optional('text', "where Slack's Web API is", 'https://slack.com/api'),
} as const

type Config = ConfigOf<typeof fields>

/** Messages of some time in one thread. A Lease holds which, so that every replica and the original know it. */
export const slackThread: Plugin<Notifier, typeof fields> = {
  type: 'slackThread',
  about: 'Posts to Slack as an app, messages of some time in one thread.',
  fields,
  problems: ({ title, message, apiURL }) => [...templateProblems({ title, message }), ...urlProblems(apiURL)],
  warnings: ({ title, message }) => templateWarnings({ title, message }),
  create: (config) => new SlackThread(config),
}

function urlProblems(apiURL: string): FieldProblem[] {
  if (isAddress(apiURL)) return []
  return [{ field: 'apiURL', message: 'this is no address; write one such as https://slack.com/api' }]
}

const callDeadlineMs = 10_000

class SlackThread implements Notifier {
  readonly #config: Omit<Config, 'token'>
  readonly #token: Secret
  readonly #title: MessageText
  readonly #message: MessageText
  /** Two nodes at once would begin two threads. */
  #last: Promise<unknown> = Promise.resolve()

  constructor({ token, ...config }: Config) {
    this.#config = config
    this.#token = new Secret(token)
    this.#title = messageOf('title', config.title)
    this.#message = messageOf('message', config.message)
  }

  async send(context: NotifyContext, doors: PluginDoors, signal: AbortSignal): Promise<undefined> {
    // Both first: a thread without an answer would be of no use.
    const texts = await writeTexts([this.#title, this.#message], context, doors, signal)
    const [title, text] = [this.#text(texts[0]), this.#text(texts[1])]
    const thread = this.#last.then(() => this.#thread(title, doors, signal))
    this.#last = thread.catch(() => undefined)
    await this.#post(text, await thread, doors, signal)
  }

  /** The thread of now, begun if there is none. */
  async #thread(title: string, doors: PluginDoors, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted()
    const { leaseName: name, leaseNamespace: namespace, period } = this.#config
    const [ref, options] = [
      { name, namespace },
      { signal, deadlineMs: callDeadlineMs },
    ]
    const lease = await readLease(doors.client, ref, options)
    const held = lease && threadIn(lease, doors.clock.now())
    if (held !== undefined) return held
    const begun = await this.#post(title, undefined, doors, signal)
    // At once, before the answer: whatever fails from here on is tried again in this thread.
    const stored = leaseOf(ref, begun, period, doors.clock.now(), lease)
    try {
      await (lease
        ? doors.client.patch(resources.leases, ref, { type: 'merge', body: stored }, options)
        : doors.client.create(resources.leases, stored, options))
      return begun
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error
      // Somebody else has begun one in the meantime: from now on there is that one.
      const theirs = await readLease(doors.client, ref, options)
      return (theirs && threadIn(theirs, doors.clock.now())) ?? begun
    }
  }

  #post(text: string, thread: string | undefined, { clock }: PluginDoors, signal: AbortSignal): Promise<string> {
    const { channel, apiURL: url } = this.#config
    const body = { channel, text, ...(thread === undefined ? {} : { thread_ts: thread }) }
    return postMessage({ url, token: this.#token, clock }, body, signal)
  }

  #text(text: string): string {
    return this.#config.raw ? text : text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  }
}

async function readLease(client: KubeClient, ref: ObjectRef, options: CallOptions): Promise<Lease | undefined> {
  try {
    return await client.get<Lease>(resources.leases, ref, options)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Undefined when its time is over. One that does not say when began long ago. */
function threadIn({ metadata, spec = {} }: Lease, nowMs: number): string | undefined {
  const ageMs = nowMs - Date.parse(spec.renewTime ?? '')
  if (!(ageMs <= (spec.leaseDurationSeconds ?? 0) * 1_000)) return undefined
  if (spec.holderIdentity) return spec.holderIdentity
  const name = `${metadata.namespace}/${metadata.name}`
  throw new NotSent(`Lease ${name} names no thread in holderIdentity; delete it, and a new thread begins`, true)
}

/** Answers do not make it live longer: a thread ends when its time is over. */
function leaseOf(ref: ObjectRef, thread: string, periodMs: number, nowMs: number, before: Lease | undefined): Lease {
  // Six digits, as the API server wants them.
  const renewTime = new Date(nowMs).toISOString().replace('Z', '000Z')
  const { resourceVersion } = before?.metadata ?? {}
  return {
    metadata: { ...ref, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: {
      holderIdentity: thread,
      renewTime,
      ...(before ? {} : { acquireTime: renewTime }),
      leaseDurationSeconds: Math.max(1, Math.floor(periodMs / 1_000)),
    },
  }
}
