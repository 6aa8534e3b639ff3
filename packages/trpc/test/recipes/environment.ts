import { Pool } from 'pg'
import { afterAll, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'

/** Creates the database of a recipe, and sets the variables that its modules read. */
export async function setEnvironment(tables: string, variables: Record<string, string> = {}): Promise<Pool> {
  const postgres = await testPostgres()
  const DATABASE_URL = await postgres.createDatabase('app')
  for (const [name, value] of Object.entries({
    BASE_URL: 'http://localhost:3000',
    DATABASE_URL,
    ...variables,
  }))
    vi.stubEnv(name, value)
  afterAll(() => vi.unstubAllEnvs())
  const hand = new Pool({ connectionString: DATABASE_URL, max: 2 })
  hand.on('error', () => {})
  await hand.query(tables)
  afterAll(() => hand.end())
  return hand
}
