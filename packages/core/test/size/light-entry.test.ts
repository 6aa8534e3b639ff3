import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bundle } from '../support/bundle.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

test.each([
  ['both steps with static and dynamic keys', './both-steps.ts', 15],
  ['all exports of the light entry', '../../src/index.ts', 16],
] as const)('%s, minified and gzipped, has a limit in KB', async (what, file, limitKb) => {
  const { code, imports } = await bundle(path(file), { minify: true })
  const bytes = gzipSync(code).byteLength
  console.log(`${what}: ${bytes} bytes minified and gzipped`)
  expect(imports).toEqual([])
  // Nothing is missing: a bundle of half the code would be small as well.
  expect(code).toContain('Sessions cannot be checked right now')
  expect(code).toContain('must have 2,048 to 8,192 bits')
  expect(code).toContain('Ed25519')
  expect(bytes).toBeLessThanOrEqual(limitKb * 1024)
})

test('jose is the only library in the light entry', async () => {
  const { files } = await bundle(path('../../src/index.ts'))
  const packages = files.map((file) => /node_modules\/(?!\.pnpm)((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1])
  expect(new Set(packages)).toEqual(new Set([undefined, 'jose']))
})
