import { InvalidArgumentError, Option } from 'commander'
import { durationMs } from '../time/index.ts'

/** Reads a whole number of a flag; commander puts the flag's name in front of the message. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`)
    return value
  }
}

/** In milliseconds. */
export function durationOption(text: string): number {
  const ms = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text) ? durationMs(text) : Number.NaN
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Write a duration such as 10s or 1m30s.')
  return ms
}

export const logLevel = () =>
  new Option('--log-level <level>').choices(['debug', 'info', 'warn', 'error']).default('info')

/** In a pod the kubelet asks from outside; on a terminal nobody else should. */
export function defaultHttpHost(): string {
  return isInPod() ? '0.0.0.0' : '127.0.0.1'
}

/** Our manifests give a pod its name; every other pod, such as one made for maintenance-controller, has the address of its cluster. */
export function isInPod(env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env['POD_NAME'] || env['KUBERNETES_SERVICE_HOST'])
}
