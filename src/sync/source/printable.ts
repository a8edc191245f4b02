/** Text of strangers, fit for one line of a terminal: nothing that moves the cursor or turns the direction of reading. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').replaceAll(/\p{Bidi_Control}/gu, '')
}
