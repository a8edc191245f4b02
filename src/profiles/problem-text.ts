import type { ConfigProblem } from './plugin.ts'

/** As compilers say it, so that editors find the place. */
export function problemText(file: string, { severity, line, column, path, message }: ConfigProblem): string {
  return `${file}:${line}:${column}: ${severity}: ${path === '' ? '' : `${path}: `}${message}`
}
