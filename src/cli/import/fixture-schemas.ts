import { expect } from 'vitest'
import { kinds, maintenanceBudget, maintenanceWindow } from '../../api/index.ts'
import { readWindow } from '../../time/index.ts'
import type { Imported } from './import-settings.ts'

/** The objects of an import, after each of them has passed its schema whole: what a schema does not know, it drops. */
export function acceptedObjects({ objects }: Imported): {
  readonly budget: object
  readonly windows: readonly object[]
} {
  for (const { kind, spec } of objects) {
    const read = kinds.find((one) => one.kind === kind)?.spec.parse(spec)
    expect(read).toMatchObject(spec)
    if (kind === maintenanceWindow.kind)
      expect(readWindow(spec as Parameters<typeof readWindow>[0]).problems).toEqual([])
  }
  const [budget, ...others] = objects.filter(({ kind }) => kind === maintenanceBudget.kind)
  expect(others).toEqual([])
  return {
    budget: budget?.spec ?? {},
    windows: objects.filter(({ kind }) => kind === maintenanceWindow.kind).map(({ spec }) => spec),
  }
}
