import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** What is known of a file. That it cannot be seen is not that it is not there. */
export type SeenFile =
  | { readonly is: 'Absent' }
  | { readonly is: 'Present'; readonly id: string }
  | { readonly is: 'Unreadable'; readonly why: string }

/**
 * Looks for a regular file; links are followed. A file is absent only if the folder that it would be in is there:
 * otherwise a file system may be missing.
 */
export async function seeFile(path: string): Promise<SeenFile> {
  try {
    const { ino, birthtimeNs, ctimeNs, isFile } = await statOf(path)
    if (!isFile) return { is: 'Unreadable', why: `${path} is not a file` }
    // Some file systems know no birth; then each change of the file makes it another one, which asks once too often at worst.
    return { is: 'Present', id: `${ino}:${birthtimeNs === 0n ? ctimeNs : birthtimeNs}` }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return { is: 'Unreadable', why: whyOf(path, error) }
  }
  try {
    if ((await stat(dirname(path))).isDirectory()) return { is: 'Absent' }
    return { is: 'Unreadable', why: `${dirname(path)} is not a folder` }
  } catch (error) {
    return { is: 'Unreadable', why: whyOf(dirname(path), error) }
  }
}

async function statOf(path: string) {
  const found = await stat(path, { bigint: true })
  return { ...found, isFile: found.isFile() }
}

/** The text of a file that may be missing. Anything else that keeps it from being read is thrown. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

function whyOf(path: string, error: unknown): string {
  return `${path} cannot be looked at: ${codeOf(error) ?? String(error)}`
}
