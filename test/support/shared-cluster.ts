import type { TestProject } from 'vitest/node'
import { bringUp, type DevReport, takeDown } from '../../src/dev/index.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Name of the embedded cluster that all end-to-end tests share. */
    readonly sharedCluster: string
  }
}

/** Lines every quarter of a minute: the first build takes minutes and must not look hung. */
export function plainReport(): DevReport {
  let lastAt = 0
  return {
    working: (text) => {
      if (Date.now() - lastAt < 15_000) return
      lastAt = Date.now()
      console.log(`   … ${text}`)
    },
    finished: (text) => console.log(`   ✓ ${text}`),
  }
}

/** One control plane for the whole run; tests keep apart by namespace and by names of their own. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const name = `test-${process.pid}`
  await bringUp({ name, simulatedNodes: 5, zones: 3, realNodes: 0 }, plainReport())
  project.provide('sharedCluster', name)
  return async () => {
    await takeDown(name, plainReport())
  }
}
