/**
 * Measures both steps on the cookies and tables of Better Auth, warm, against a bare prepared statement that
 * reads the same rows. `authenticate(request)` also parses the headers and checks the origin.
 */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { authenticate, ConfigurationError, sessionsOf, validateSession } from '@sallyport/core'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin } from 'better-auth/plugins'
import Database from 'better-sqlite3'
import { Client, Pool } from 'pg'
import { alternate } from '../../../bench/compare.ts'
import { verifyProof } from '../../core/src/jwt/verify-once.ts'
import { startPostgres } from '../../core/test/support/embedded-postgres.ts'

const SESSIONS = 1_024
/** Both steps cost at most this many times the bare statement. */
const GOAL = 1.5

interface Request {
  readonly id: string
  readonly userId: string
  /** The decoded value of the cookie. */
  readonly token: string
  readonly request: { readonly method: string; header(name: string): string | null }
}

type Call = (request: Request) => Promise<unknown>

await onSqlite()
await onPostgres()

async function onSqlite(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const path = join(directory, 'bench.db')
  const database = new Database(path)
  database.pragma('journal_mode = wal')
  const { requests, close, ...calls } = await open({ database }, database)
  const reader = new Database(path, { readonly: true })
  const statement = reader.prepare(bareStatement('+?', '+?')).raw()
  const bare: Call = async ({ id, userId }) => statement.get(id, userId)
  await compare('SQLite, one at a time', { requests, calls, bare, count: 32_000, together: 1 })
  await compare('SQLite, 32 in a turn', { requests, calls, bare, count: 32_000, together: 32 })
  reader.close()
  await close()
  rmSync(directory, { recursive: true })
}

async function onPostgres(): Promise<void> {
  const server = await startPostgres()
  const connectionString = await server.createDatabase('bench')
  const database = new Pool({ connectionString })
  database.on('error', () => {})
  const { requests, close, ...calls } = await open({ database }, database)
  const client = new Client(connectionString)
  await client.connect()
  // The planner scans a small table.
  await client.query(`
    insert into session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
      select i, i, (select id from "user"), now() + interval '1 day', now(), now() from generate_series(1, 100000) i`)
  await client.query('vacuum analyze')
  const text = bareStatement('$1', '$2')
  const bare: Call = ({ id, userId }) =>
    client.query({ name: 'lookup', text, values: [id, userId], rowMode: 'array' })
  let last: Promise<unknown> = Promise.resolve()
  const oneByOne: Call = (request) => {
    last = last.then(() => bare(request))
    return last
  }
  await compare('PostgreSQL, one at a time', { requests, calls, bare, count: 3_000, together: 1 })
  await compare('PostgreSQL, 32 at once', { requests, calls, bare: oneByOne, count: 8_000, together: 32 })
  await client.end()
  await close()
  await database.end()
  await server.stop()
  process.exit()
}

function bareStatement(id: string, userId: string): string {
  return `select s.*, u.* from session s join "user" u on u.id = s."userId" where s.id = ${id} and s."userId" = ${userId}`
}

/** Opens guards on a new database, and signs in. */
async function open({ database }: Pick<BetterAuthOptions, 'database'>, db: object) {
  const options = {
    baseURL: 'http://localhost:3000',
    secret: 'a-secret-of-at-least-32-characters-for-the-bench',
    database,
    plugins: [admin()],
  }
  await (await getMigrations(options)).runMigrations()
  const auth = betterAuth(options)
  const { authCookies, internalAdapter } = await auth.$context
  const user = await internalAdapter.createUser({ name: 'Ada', email: 'ada@example.com' }, { method: 'POST' })
  const requests: Request[] = []
  for (let i = 0; i < SESSIONS; i++) {
    const { id, token } = await internalAdapter.createSession(user.id)
    const signature = createHmac('sha256', options.secret).update(token).digest('base64')
    const value = `${token}.${signature}`
    const cookie = `${authCookies.sessionToken.name}=${encodeURIComponent(value)}`
    const header = (name: string) =>
      name === 'cookie' ? cookie : name === 'sec-fetch-site' ? 'same-origin' : null
    requests.push({ id, userId: user.id, token: value, request: { method: 'GET', header } })
  }
  const guard = betterAuthGuard(auth)
  const attached = guard.attach(db)
  const { config } = guard
  const sessions = sessionsOf(attached)
  const { proof } = config
  if (proof === undefined) throw new ConfigurationError('No proof')
  // Like `authenticate`. Without the second `await`, the wrapper would cost more than that of the statement.
  const steps: Call = async ({ token }) => {
    const identity = await verifyProof(token, proof, config)
    return await validateSession(identity, sessions, config)
  }
  const whole: Call = ({ request }) => authenticate(request, 'query', { config, sessions })
  for (const request of requests) await whole(request)
  return { requests, steps, whole, close: () => guard.close() }
}

interface Compared {
  readonly requests: readonly Request[]
  readonly calls: { readonly steps: Call; readonly whole: Call }
  readonly bare: Call
  readonly count: number
  readonly together: number
}

async function compare(name: string, { requests, calls, bare, count, together }: Compared): Promise<void> {
  const rateOf = (call: Call) => async () => {
    const startedAt = performance.now()
    for (let i = 0; i < count; i += together) {
      await Promise.all(requests.slice(i % SESSIONS, (i % SESSIONS) + together).map(call))
      if (together > 1) await nextTurn()
    }
    return (count / (performance.now() - startedAt)) * 1_000
  }
  for (const [title, call, goal] of [
    ['both steps', calls.steps, GOAL],
    ['authenticate(request)', calls.whole, null],
  ] as const) {
    const { rate, baselineRate, percent } = await alternate(rateOf(call), rateOf(bare))
    const rates = [rate, baselineRate].map((each) => Math.round(each).toLocaleString('en').padStart(10))
    const ofGoal = goal === null ? '' : `(at most ${goal})`
    console.log(`${name}, ${title}`.padEnd(50), ...rates, `${(100 / percent).toFixed(2)} times`, ofGoal)
  }
}
