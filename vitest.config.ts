import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Child processes and real servers on a busy machine.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    include: ['packages/*/test/**/*.test.ts'],
  },
})
