/** RFC 3339 with six digits: what the API calls MicroTime and refuses in any other form. */
export function microTime(micros: number): string {
  const whole = new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)
  return `${whole}${String(Math.floor(micros) % 1000).padStart(3, '0')}Z`
}
