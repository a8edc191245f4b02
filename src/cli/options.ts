import { InvalidArgumentError } from 'commander'

/** Reads a whole number of a flag; commander puts the flag's name in front of the message. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`)
    return value
  }
}
