import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Child processes and real servers on a busy machine.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // No secret in any log, error body, URL or database: checked after every test file.
    setupFiles: ['packages/core/test/leaks/setup.ts'],
    include: ['packages/*/test/**/*.test.ts'],
  },
})
