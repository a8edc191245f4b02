import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const lock = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

test('the lock file has an entry for every optional package, or else `npm ci` refuses it (scripts/complete-lock.ts)', () => {
  const missing = Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${parent}/node_modules/${name}`],
    ),
  )
  expect(missing).toEqual([])
})
