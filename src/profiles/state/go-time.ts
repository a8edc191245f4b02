/** A moment as the original writes it: to the nanosecond, which a number of milliseconds cannot hold. */
export interface GoTime {
  /** RFC 3339, with as many digits as it needs. */
  readonly text: string
  /** Milliseconds since 1970, with fractions. */
  readonly ms: number
}

/** What the original writes for never. */
export const zeroTime: GoTime = { text: '0001-01-01T00:00:00Z', ms: Date.parse('0001-01-01T00:00:00Z') }

export function isZero(time: GoTime): boolean {
  return time.ms === zeroTime.ms
}

const shape = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/

/** Nothing if it is none. */
export function readGoTime(text: string): GoTime | undefined {
  const [, seconds = '', digits = '', offset = ''] = shape.exec(text) ?? []
  const zone = offset === '+00:00' || offset === '-00:00' ? 'Z' : offset
  const wholeMs = Date.parse(`${seconds}${zone}`)
  // Some days are none, and Date counts on: the 30th of February.
  if (Number.isNaN(wholeMs) || !isDay(seconds)) return undefined
  const fraction = digits.replace(/0+$/, '')
  return {
    text: `${seconds}${fraction === '' ? '' : `.${fraction}`}${zone}`,
    ms: wholeMs + (fraction === '' ? 0 : Number(`0.${fraction}`) * 1_000),
  }
}

export function goTimeOf(ms: number): GoTime {
  const [seconds = '', rest = ''] = new Date(ms).toISOString().split('.')
  const fraction = rest.replace(/0*Z$/, '')
  return { text: `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`, ms: Math.trunc(ms) }
}

function isDay(seconds: string): boolean {
  const [date = ''] = seconds.split('T')
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}
