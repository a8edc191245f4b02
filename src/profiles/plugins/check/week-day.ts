const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** What to write, for sentences. */
export const weekdayRemedy = 'write a day in English, whole or its first three letters: Monday or Mon'

/** 0 is Sunday. Nothing if it is none. */
export function readWeekday(text: string): number | undefined {
  const wanted = text.toLowerCase()
  const index = names.findIndex((name) => name === wanted || name.slice(0, 3) === wanted)
  return index < 0 ? undefined : index
}
