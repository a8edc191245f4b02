import { describe, expect, it } from 'vitest'
import { debootstrapProgress, recipeHash, rootFilesystemRecipe } from './root-filesystem.ts'

describe('the root file system of machines', () => {
  it('gets a new place in the cache when its recipe changes', () => {
    const { packages } = rootFilesystemRecipe
    expect(recipeHash(rootFilesystemRecipe)).toMatch(/^[0-9a-f]{16}$/)
    expect(recipeHash({ ...rootFilesystemRecipe, packages: [...packages, 'less'] })).not.toBe(
      recipeHash(rootFilesystemRecipe),
    )
  })

  it('tells the step and how far it is, and nothing else', () => {
    const said: string[] = []
    const listen = debootstrapProgress((line) => said.push(line))
    for (const line of [
      'I: Retrieving InRelease',
      'I: Retrieving libc6 2.36-9',
      'I: Validating libc6 2.36-9',
      'I: Retrieving dpkg 1.21',
      'I: Configuring dpkg...',
      'I: Base system installed successfully.',
    ])
      listen(line)
    expect(said.map((line) => /: (\w+ packages, \d+);/.exec(line)?.[1])).toEqual([
      'retrieving packages, 1',
      'retrieving packages, 2',
      'configuring packages, 1',
    ])
  })
})
