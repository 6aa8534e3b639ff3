import type { AuthPlugin } from '@sallyport/core/auth'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../core/test/hostile/random.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { startSignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import type { App } from '../transaction/open-app.ts'
import { call, contextOf, openForTests, STORES } from '../transaction/stores.ts'
import { BASE_URL, LONG_RUN } from './node-settings.ts'
import { signInByEveryMethod } from './sign-in-by-every-method.ts'
import { type SignedIn, signIn } from './signed-in-users.ts'

/** For both databases together. `pnpm test:revocation` runs 10,000. */
const COUNT = Number(process.env.INTERLEAVINGS ?? 120) / STORES.length
const SEED = process.env.REVOCATION_SEED ?? 'sallyport'
const AT_ONCE = 8
const MAX_WRITES = 3
const MAX_TURNS = 12

const world = await startSignInWorld()

const KINDS = ['sign-out', 'admin', 'ban', 'user deleted', 'row deleted by plain SQL', 'role lost'] as const
type Kind = (typeof KINDS)[number]

/** Why a write after the revocation is rejected, if not for `SESSION_NOT_FOUND`. */
const REASONS: Partial<Record<Kind, string>> = { ban: 'ACCOUNT_BANNED', 'role lost': 'ROLE_REQUIRED' }

/**
 * A user's events, ordered by `seq`. A write and its revocation both record themselves while they hold the
 * locks, so the one with the lower number was committed first.
 */
type OrderTables = { happened: { what: 'written' | 'revoked'; userId: string } }

const withOrder = (db: unknown) => db as Kysely<OrderTables>

/** Records a revocation in its own transaction, after its statement. */
const order: AuthPlugin = {
  id: 'order',
  async onChange({ type, userId }, trx) {
    if (userId === null || !ENDS_WRITES.has(type)) return
    await withOrder(trx).insertInto('happened').values({ what: 'revoked', userId }).execute()
  },
}
const ENDS_WRITES = new Set(['session.revoked', 'user.banned', 'user.deleted', 'user.role-changed'])

describe.each(STORES)('$engine', ({ engine, createDatabase }) => {
  test(`${COUNT} interleavings of sensitive writes with a revocation commit no write after it`, {
    timeout: 90_000 + COUNT * 300,
  }, async () => {
    const issuer = await createIssuer(LONG_RUN)
    const random = createRandom(`${SEED} ${engine}`)
    const url = await createDatabase()
    // Two nodes with separate connections.
    const open = () => openForTests(url, { issuer, plugins: [order] })
    const [writer, revoker] = [await open(), await open()]
    const seq = engine === 'SQLite' ? 'integer primary key autoincrement' : 'bigserial'
    await sql
      .raw(`create table happened (seq ${seq}, what text not null, "userId" text not null)`)
      .execute(writer.db)

    const admins = await signIn(url, AT_ONCE, { issuer, role: 'admin' })
    const people = await signInByEveryMethod(url, COUNT, { issuer, world, random })
    const left = people.map((person, i) => ({ kind: KINDS[i % KINDS.length] ?? 'ban', person }))
    for (const { kind, person } of left) {
      if (kind !== 'role lost') continue
      await writer.db.updateTable('user').set({ role: 'admin' }).where('id', '=', person.userId).execute()
    }
    const total = left.length
    const outcomes: Record<string, number> = {}
    const revoked: Record<string, number> = {}

    async function work(admin: SignedIn): Promise<void> {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { kind, person } = next
        const turns = () => random.below(MAX_TURNS)
        const writes = Array.from({ length: 1 + random.below(MAX_WRITES) }, () =>
          write(writer, { kind, person, begins: turns(), waits: turns(), works: turns() }),
        )
        const [status, ...written] = await Promise.all([
          revoke({ app: revoker, kind, person, admin, begins: turns() + turns() }),
          ...writes,
        ])
        expect(status, kind).toBe(200)
        revoked[kind] = (revoked[kind] ?? 0) + 1
        for (const outcome of written) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
        const late = await write(writer, { kind, person, begins: 0, waits: 0, works: 0 })
        expect(late, kind).toBe(REASONS[kind] ?? 'SESSION_NOT_FOUND')
      }
    }
    await Promise.all(admins.map(work))

    console.log(`${engine}: REVOCATION_SEED=${SEED}`, revoked, outcomes)
    expect(Object.values(revoked).reduce((sum, count) => sum + count)).toBe(total)
    const { rows } = await sql<{ userId: string; what: string; seq: number | string }>`
      select "userId", what, seq from happened order by seq`.execute(writer.db)
    expect(rows.filter(({ what }) => what === 'written')).toHaveLength(outcomes.written ?? 0)
    expect(wronglyWritten(rows)).toEqual([])
    // Both occurred: writes before the revocation, and some that were too late.
    expect(outcomes.written).toBeGreaterThan(0)
    expect(outcomes.SESSION_NOT_FOUND).toBeGreaterThan(0)
  })
})

/** Returns the users whose write has a higher number than its revocation. */
function wronglyWritten(rows: readonly { userId: string; what: string }[]): string[] {
  const over = new Set<string>()
  return rows.flatMap(({ userId, what }) => {
    if (what === 'revoked') over.add(userId)
    return what === 'written' && over.has(userId) ? [userId] : []
  })
}

interface Write {
  readonly kind: Kind
  readonly person: SignedIn
  /** Statements before the call. */
  readonly begins: number
  /** Statements between the guard and the locks. */
  readonly waits: number
  /** Statements in the transaction. */
  readonly works: number
}

/** Resolves to `written` or the reason why not. */
async function write(app: App, { kind, person, begins, waits, works }: Write): Promise<string> {
  await spend(begins, app)
  const context = contextOf(app, person, {
    before: () => spend(waits, app),
    async inside(trx) {
      await withOrder(trx).insertInto('happened').values({ what: 'written', userId: person.userId }).execute()
      for (let i = 0; i < works; i++) {
        await sql`select 1`.execute(trx)
        await new Promise(setImmediate)
      }
    },
  })
  const { rejection } = await call(kind === 'role lost' ? 'asAdmin' : 'write', context)
  return rejection === null ? 'written' : (rejection.auth?.reason ?? rejection.message)
}

interface Revocation {
  readonly app: App
  readonly kind: Kind
  readonly person: SignedIn
  readonly admin: SignedIn
  readonly begins: number
}

/** Resolves to the status of the answer. */
async function revoke({ app, kind, person, admin, begins }: Revocation): Promise<number> {
  await spend(begins, app)
  const { userId, sessionId } = person
  const post = async ({ path }: Route, { cookie }: SignedIn, input: object = {}) => {
    const headers = { cookie, origin: BASE_URL, [CLIENT_HEADER]: '1', 'content-type': 'application/json' }
    const body = JSON.stringify(input)
    const request = new Request(`${BASE_URL}${AUTH_PATH}${path}`, { method: 'POST', headers, body })
    return (await app.auth.handler(request)).status
  }
  switch (kind) {
    case 'sign-out':
      return post(ENDPOINTS.signOut, person)
    case 'admin':
      return post(ENDPOINTS.revokeUserSession, admin, { sessionId })
    case 'ban':
      return post(ENDPOINTS.banUser, admin, { userId })
    case 'user deleted':
      return post(ENDPOINTS.deleteUser, person)
    case 'role lost':
      return post(ENDPOINTS.setRole, admin, { userId, role: 'user' })
    case 'row deleted by plain SQL':
      await app.db.transaction().execute(async (trx) => {
        await sql`delete from session where id = ${sessionId}`.execute(trx)
        await withOrder(trx).insertInto('happened').values({ what: 'revoked', userId }).execute()
      })
      return 200
  }
}

/** Spends as much time as this many statements take. */
async function spend(statements: number, { db }: App): Promise<void> {
  for (let i = 0; i < statements; i++) await sql`select 1`.execute(db)
}
