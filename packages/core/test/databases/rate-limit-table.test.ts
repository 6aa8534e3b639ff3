import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type DatabaseKind,
  databaseKinds,
  type OpenStore,
  type TestDatabase,
} from '../support/database-kinds.ts'

const POINTS = 2
const LIMIT = { points: POINTS, duration: 60 }
const BASE_URL = 'http://localhost:3000'

type Limits = Pick<OpenStore, 'limits'>

const OPENINGS: readonly {
  name: string
  /** Better Auth's names of its tables, which aren't ours. */
  tables: Readonly<Record<'user' | 'session' | 'account', { modelName?: string }>>
  open(database: TestDatabase): Promise<Limits>
}[] = [
  {
    name: 'a mapped store',
    tables: { user: {}, session: {}, account: {} },
    open: (database) =>
      database.openStore({
        session: { columns: { lastAuthenticatedAt: 'createdAt' } },
        user: { columns: { role: null, banned: null, banExpires: null } },
      }),
  },
  {
    name: 'our own tables',
    tables: {
      user: { modelName: 'member' },
      session: { modelName: 'member_session' },
      account: { modelName: 'member_account' },
    },
    open: (database) => database.open(),
  },
]

/** Opens the client of the app, which is closed after the test. */
function openClient({ url }: TestDatabase, engine: DatabaseKind['name']) {
  if (engine === 'SQLite') {
    const file = new Database(url)
    onTestFinished(() => void file.close())
    return file
  }
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  onTestFinished(() => pool.end())
  return pool
}

/** Creates Better Auth with its migrations, with or without a table of rate limits. */
async function openBetterAuth(
  client: ReturnType<typeof openClient>,
  tables: (typeof OPENINGS)[number]['tables'],
  options: { isLimited: boolean },
): Promise<(address: string) => Promise<number>> {
  const auth = betterAuth({
    baseURL: BASE_URL,
    secret: 'a secret of this test, which is long enough',
    database: client,
    ...tables,
    ...(options.isLimited && {
      rateLimit: { enabled: true, storage: 'database', max: POINTS, window: LIMIT.duration },
    }),
    telemetry: { enabled: false },
  })
  const { runMigrations } = await getMigrations(auth.options)
  await runMigrations()
  return async (address) => {
    const headers = { 'x-forwarded-for': address }
    const { status } = await auth.handler(new Request(`${BASE_URL}/api/auth/get-session`, { headers }))
    return status
  }
}

/** Uses up a limit of Better Auth, and one of ours. */
async function expectBothCount(
  { rows }: TestDatabase,
  { limits }: Limits,
  call: (address: string) => Promise<number>,
): Promise<void> {
  const address = '203.0.113.7'
  const statuses: number[] = []
  const results: (number | null | undefined)[] = []
  for (let i = 0; i <= POINTS; i++) {
    statuses.push(await call(address))
    results.push(await limits?.consume('ada', LIMIT))
  }
  expect(statuses).toEqual([200, 200, 429])
  expect(results).toEqual([null, null, expect.any(Number)])
  // A limit that is used up in one table isn't in the other.
  expect(await call('203.0.113.8')).toBe(200)
  expect(await limits?.consume('eve', LIMIT)).toBeNull()
  const counters = await rows('select key, count from "rateLimit" order by key')
  expect(counters).toEqual([
    { key: expect.stringContaining(address), count: POINTS },
    { key: expect.stringContaining('203.0.113.8'), count: 1 },
  ])
}

describe.each(await databaseKinds())('$name: the rate limits of Better Auth and those of', (kind) => {
  test.each(OPENINGS)('$name both count in a new database', async ({ tables, open }) => {
    const database = await kind.create()
    const client = openClient(database, kind.name)
    const call = await openBetterAuth(client, tables, { isLimited: true })
    await expectBothCount(database, await open(database), call)
  })

  test.each(OPENINGS)('$name both count if Better Auth adds its table later', async ({ tables, open }) => {
    const database = await kind.create()
    const client = openClient(database, kind.name)
    await openBetterAuth(client, tables, { isLimited: false })
    const opened = await open(database)
    await expectBothCount(database, opened, await openBetterAuth(client, tables, { isLimited: true }))
  })
})
