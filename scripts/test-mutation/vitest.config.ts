import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import manifest from '../../packages/core/package.json' with { type: 'json' }
import { GROUPS } from './groups.ts'

/** The mutated sources of core. Its link in `node_modules` leads to the unchanged ones. */
const alias = Object.entries(manifest.exports).map(([entry, file]) => ({
  find: new RegExp(`^@sallyport/core${entry.slice(1)}$`),
  replacement: fileURLToPath(new URL(`../../packages/core/${file}`, import.meta.url)),
}))

const group = GROUPS[process.env.MUTATION_GROUP ?? '']

/** The tests of one group, without the search for leaks, which takes time. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias },
  test: {
    include: [...(group?.tests ?? [])],
    isolate: group?.isolate ?? false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
