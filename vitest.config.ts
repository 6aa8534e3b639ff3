import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Child processes and real servers on a busy machine.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // By itself it leaves a core idle, of which there may be two: most tests wait for something.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // No secret in any log, error body, URL or database: checked after every test file.
    setupFiles: ['packages/core/test/leaks/setup.ts'],
    include: ['packages/*/test/**/*.test.ts'],
  },
})
