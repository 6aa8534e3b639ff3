// Before the library, which imports argon2. The queue is full however long a hash takes.
import '../support/remember-hashes.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthFailure } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { hashPassword } from '../../src/plugins/email-password/password.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

afterEach(() => void vi.useRealTimers())

test('after close(), its file may be deleted', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const directory = temporaryDirectory()
  const onFailure = vi.fn<(failure: AuthFailure) => void>()
  const auth = await createTestAuth({ databaseUrl: join(directory, 'app.db'), onFailure })
  await auth.close()
  rmSync(directory, { recursive: true })
  vi.advanceTimersByTime(10_000)
  expect(onFailure).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})

test('creates users again after too many passwords were hashed at once', async () => {
  const auth = await createTestAuth()
  const hashes = Array.from({ length: 200 }, () => hashPassword('a password'))
  await expect(auth.createUser()).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
  await Promise.allSettled(hashes)
  expect(await auth.createUser()).toMatchObject({ userId: expect.any(String) })
  await auth.close()
})

test('has columns of the app, from a plugin', async () => {
  const userColumns = { locale: { schema: z.enum(['en', 'de']), default: 'en' } } as const
  const sessionColumns = { theme: { schema: z.string().nullable() } }
  const auth = await createTestAuth({ plugins: [{ id: 'columns', userColumns, sessionColumns }] })
  const { cookie } = await auth.signIn()
  const request = new Request(auth.config.baseUrl, { headers: { cookie } })
  const { user, session } = await auth.api.getSession({ request })
  expect([user.locale, session.theme]).toEqual(['en', null])
  await auth.close()
})
