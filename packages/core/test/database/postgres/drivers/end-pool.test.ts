import { openPostgresStore } from '@sallyport/core/postgres'
import { Pool } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { postgresKind } from '../../../support/database-kinds.ts'
import { testPostgres } from '../../../support/postgres.ts'

const { create } = postgresKind(await testPostgres())

test("the app's pool ends without waiting for the connection that listens", async () => {
  const database = await create()
  await (await database.open()).close()
  const pool = new Pool({ connectionString: database.url })
  const store = await openPostgresStore({ pool }, { mapping: {} })
  onTestFinished(store.close)
  await vi.waitFor(() => expect(pool.idleCount).toBeLessThan(pool.totalCount))
  await pool.end()
  expect(pool.totalCount).toBe(0)
})
