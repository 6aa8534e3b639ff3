import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertGuarded } from '@sallyport/trpc'
import { expect, test, vi } from 'vitest'

test('every procedure is guarded, except the public ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
  // Vite sets a variable with this name.
  vi.stubEnv('BASE_URL', undefined)
  vi.stubEnv('KEY_FILE', join(folder, 'keys.json'))
  vi.stubEnv('ENCRYPTION_KEY_FILE', join(folder, 'encryption-key'))
  const { appRouter } = await import('../../src/routers/app.ts')
  rmSync(folder, { recursive: true })
  expect(() =>
    assertGuarded(appRouter, { public: ['health', 'demo', 'greeting', 'gate.inspect'] }),
  ).not.toThrow()
  expect(() => assertGuarded(appRouter, { public: ['demo', 'greeting', 'gate.inspect'] })).toThrow(
    'health has no session middleware and is not listed as public',
  )
})
