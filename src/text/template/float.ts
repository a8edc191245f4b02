/** A number that is not negative: with so many places, or as short as it can be told from its neighbours. */
export function floatText(value: number, places: number | undefined): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : '+Inf'
  return places === undefined ? shortest(value) : fixed(value, places)
}

function shortest(value: number): string {
  const [mantissa = '', exponentText = ''] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 6) {
    const size = Math.abs(exponent).toString().padStart(2, '0')
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${size}`
  }
  const digits = mantissa.replace('.', '')
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const rest = digits.slice(exponent + 1)
  return rest === '' ? whole : `${whole}.${rest}`
}

/** All places of a double fit into this many, as far as anybody asks for them. */
const allPlaces = 100

/** Rounds a tie to the even neighbour, as Go does; JavaScript rounds it up. */
function fixed(value: number, places: number): string {
  const asked = Math.min(places, allPlaces)
  // From here on JavaScript would write an exponent, and there are no places.
  const text = value >= 1e21 ? `${BigInt(value)}${asked > 0 ? `.${'0'.repeat(asked)}` : ''}` : rounded(value, asked)
  return text + '0'.repeat(places - asked)
}

function rounded(value: number, places: number): string {
  const up = value.toFixed(places)
  const exact = value.toFixed(allPlaces)
  const [whole = '', rest = ''] = exact.split('.')
  if (!/^50*$/.test(rest.slice(places))) return up
  const down = places === 0 ? whole : `${whole}.${rest.slice(0, places)}`
  return Number(down.at(-1)) % 2 === 0 ? down : up
}
