import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/house/**/*.test.ts'],
          testTimeout: 20_000,
          // Reading the sources anew for each of a hundred files takes longer than the tests.
          isolate: false,
          // Left to itself it keeps one core free, and many of these tests only wait.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/shared-cluster.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // Two cores, and the tests share one control plane: side by side they only disturb each other's clocks.
          fileParallelism: false,
          // One process reads the sources once; what is left behind by a file is found by the next one, which is welcome.
          isolate: false,
        },
      },
    ],
  },
})
