import type { LeaderEvent } from '../kube/index.ts'
import type { LeadsElsewhere, ProfilesLog } from '../profiles/index.ts'

/** Whether the profiles of this process act, and what they wait for if they do not. What stays the same is logged once. */
export class ProfilesTurn {
  readonly #lease: string
  readonly #log: ProfilesLog
  #isActive = false
  #wait: string | undefined

  constructor(lease: { readonly namespace: string; readonly name: string }, log: ProfilesLog) {
    this.#lease = `${lease.namespace}/${lease.name}`
    this.#log = log
  }

  get isActive(): boolean {
    return this.#isActive
  }

  /** Sentences for the page that says whether the controller is ready. */
  remarks(): readonly string[] {
    return this.#wait === undefined ? [] : [this.#wait]
  }

  /** What happens to the lease of maintenance-controller. */
  note(event: LeaderEvent): void {
    switch (event.type) {
      case 'waits':
        this.#waitFor(event.holder === '' ? 'was not given back, and is watched' : `is held by ${event.holder}`)
        break
      case 'trouble': {
        const why = event.error instanceof Error ? event.error.message : String(event.error)
        // Whoever acts goes on until its term is over, and then waits.
        if (this.#isActive) this.#log.warn({ lease: this.#lease, why }, 'the lease of profiles was not renewed')
        else this.#waitFor(`could not be read or written: ${why}`)
        break
      }
      case 'acquired':
        this.#wait = undefined
        break
      case 'ended':
        this.#end()
        break
      default:
        event satisfies never
    }
  }

  /** The lease is held, and nobody else leads. */
  begin(): void {
    this.#wait = undefined
    this.#isActive = true
    this.#log.info({ lease: this.#lease }, 'profiles begin')
  }

  /** Holding the lease is of no use while somebody goes by that of another namespace. */
  waitForOther({ program, namespace, holder }: LeadsElsewhere): void {
    this.#end()
    const remedy =
      program === 'Fettle'
        ? 'there is one Fettle per cluster; uninstall one of the two'
        : `scale it to zero, or start the controller with --original-lease-namespace=${namespace}`
    this.#say(`profiles wait: ${program} ${holder} leads in namespace ${namespace}: ${remedy}`)
  }

  /** Another replica leads, and waits or acts from now on. */
  leave(): void {
    this.#wait = undefined
  }

  #waitFor(what: string): void {
    this.#say(`profiles wait: lease ${this.#lease} ${what}`)
  }

  #end(): void {
    if (this.#isActive) this.#log.info({ lease: this.#lease }, 'profiles end')
    this.#isActive = false
  }

  #say(text: string): void {
    if (text !== this.#wait) this.#log.warn({}, text)
    this.#wait = text
  }
}
