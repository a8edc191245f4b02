const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `Dec 24`, in the shape that `monthDayOf` gives. Nothing if there is no such day in any year. */
export function readMonthDay(text: string): string | undefined {
  const [, name = '', day = ''] = /^([A-Za-z]{3}) +(\d{1,2})$/.exec(text) ?? []
  const month = months.indexOf(name.toLowerCase())
  if (month < 0) return undefined
  // A leap year, so that there is a 29th of February.
  const wallMs = Date.UTC(2000, month, Number(day))
  const isReal = Number(day) > 0 && new Date(wallMs).getUTCMonth() === month
  return isReal ? monthDayOf(wallMs) : undefined
}

/** Of what the calendar on the wall shows. */
export function monthDayOf(wallMs: number): string {
  const date = new Date(wallMs)
  return `${date.getUTCMonth() + 1}-${date.getUTCDate()}`
}
