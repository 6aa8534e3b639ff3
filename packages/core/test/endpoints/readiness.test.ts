import type { AuthFailure } from '@sallyport/core'
import { createAuth } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { databaseKinds, type OpenDatabase } from '../support/database-kinds.ts'

const MAX_SKEW_MS = 30_000
/** How far the databases' clocks may have advanced between the check and the test's own reading. */
const MARGIN_MS = 10_000

const app = await createTestAuth()
afterAll(() => app.close())

describe.each(await databaseKinds())('the clock of a process on $name', ({ create }) => {
  let database: OpenDatabase
  beforeAll(async () => {
    database = await (await create()).open()
  })
  afterEach(() => void vi.useRealTimers())

  test.each([
    { direction: 'ahead', skewMs: MAX_SKEW_MS - MARGIN_MS, clock: 'ok' },
    { direction: 'ahead', skewMs: MAX_SKEW_MS + MARGIN_MS, clock: 'CLOCK_SKEW' },
    { direction: 'behind', skewMs: -MAX_SKEW_MS + MARGIN_MS, clock: 'ok' },
    { direction: 'behind', skewMs: -MAX_SKEW_MS - MARGIN_MS, clock: 'CLOCK_SKEW' },
  ])('$skewMs ms $direction of the database: $clock', async ({ skewMs, clock }) => {
    const failures: AuthFailure[] = []
    const onFailure = (failure: AuthFailure) => void failures.push(failure)
    const config = { ...app.config, onFailure, lookupTimeoutMs: 30_000 }
    const definition = { ...app.definition, config, plugins: [] }
    const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs })
    const readiness = await auth.readiness()
    vi.useRealTimers()
    expect(readiness).toEqual({ read: 'ok', write: 'ok', feed: 'ok', keys: 'ok', clock })
    const reports = clock === 'ok' ? [] : [{ code: clock, path: 'readiness', step: 'background' }]
    expect(failures).toMatchObject(reports)
    await auth.close()
  })
})
