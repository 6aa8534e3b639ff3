/**
 * Measures both steps on the cookies and tables of Better Auth, from the headers of a request to the session,
 * against a bare prepared statement that reads the same rows. SQLite is warm. PostgreSQL is local.
 */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { authenticate, sessionsOf } from '@sallyport/core'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin } from 'better-auth/plugins'
import Database from 'better-sqlite3'
import { Client, Pool } from 'pg'
import { alternate } from '../../../bench/compare.ts'
import { startPostgres } from '../../core/test/support/embedded-postgres.ts'

const SESSIONS = 1_024
/** Both steps cost at most this many times the bare statement. */
const GOAL = 1.5

interface Request {
  readonly id: string
  readonly userId: string
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
  const { requests, steps } = await open({ database }, database)
  const reader = new Database(path, { readonly: true })
  const statement = reader.prepare(bareStatement('+?', '+?')).raw()
  const bare: Call = async ({ id, userId }) => statement.get(id, userId)
  await compare('SQLite, one at a time', { requests, steps, bare, count: 32_000, together: 1 })
  await compare('SQLite, 32 in a turn', { requests, steps, bare, count: 32_000, together: 32 })
  reader.close()
  rmSync(directory, { recursive: true })
}

async function onPostgres(): Promise<void> {
  const server = await startPostgres()
  const connectionString = await server.createDatabase('bench')
  const database = new Pool({ connectionString })
  database.on('error', () => {})
  const { requests, steps } = await open({ database }, database)
  const client = new Client(connectionString)
  await client.connect()
  const text = bareStatement('$1', '$2')
  const bare: Call = ({ id, userId }) =>
    client.query({ name: 'lookup', text, values: [id, userId], rowMode: 'array' })
  await compare('PostgreSQL, one at a time', { requests, steps, bare, count: 5_000, together: 1 })
  await client.end()
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
    const cookie = `${authCookies.sessionToken.name}=${encodeURIComponent(`${token}.${signature}`)}`
    const header = (name: string) =>
      name === 'cookie' ? cookie : name === 'sec-fetch-site' ? 'same-origin' : null
    requests.push({ id, userId: user.id, request: { method: 'GET', header } })
  }
  const guard = betterAuthGuard(auth)
  const attached = guard.attach(db)
  const steps: Call = ({ request }) =>
    authenticate(request, 'query', { config: guard.config, sessions: sessionsOf(attached) })
  for (const request of requests) await steps(request)
  return { requests, steps }
}

interface Compared {
  readonly requests: readonly Request[]
  readonly steps: Call
  readonly bare: Call
  readonly count: number
  readonly together: number
}

async function compare(name: string, { requests, steps, bare, count, together }: Compared): Promise<void> {
  const rateOf = (call: Call) => async () => {
    const startedAt = performance.now()
    for (let i = 0; i < count; i += together) {
      await Promise.all(requests.slice(i % SESSIONS, (i % SESSIONS) + together).map(call))
      if (together > 1) await nextTurn()
    }
    return (count / (performance.now() - startedAt)) * 1_000
  }
  const { rate, baselineRate, percent } = await alternate(rateOf(steps), rateOf(bare))
  const rates = [rate, baselineRate].map((each) => Math.round(each).toLocaleString('en').padStart(10))
  const cost = 100 / percent
  console.log(name.padEnd(28), ...rates, `${cost.toFixed(2)} times`, cost <= GOAL ? '' : `(goal: ${GOAL})`)
}
