/** Numbers as Go reads and writes them. Undefined: not such a number. */

const digitsOf = /^([+-]?)(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)$/

/** A whole number in any of Go's notations: `010` and `0o10` are eight, `0x10` is sixteen. */
export function goInteger(text: string): bigint | undefined {
  const [, sign] = digitsOf.exec(text) ?? []
  if (sign === undefined) return undefined
  const digits = text.slice(sign.length).replaceAll('_', '')
  const value = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits)
  if (value > (sign === '-' ? 2n ** 63n : 2n ** 64n - 1n)) return undefined
  return sign === '-' ? -value : value
}

export function goFloat(text: string): number | undefined {
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

/** The shortest form, with an exponent below 0.0001 and from a million on. */
export function goFloatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (value === 0 || (power >= -4 && power < 21 && Math.abs(value) < 1e6 && Math.abs(value) >= 1e-4))
    return Object.is(value, -0) ? '-0' : String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
