import { banUser, createSession, revokeSession, revokeSessions } from '@sallyport/core/auth'
import { ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { AuthTransaction } from '../../src/database/session-database.ts'
import { commit } from '../../src/lifecycle/commit.ts'
import { nicknames } from '../sign-in-elsewhere/plugin-example.ts'
import { codeOf } from '../support/code-of.ts'
import { insertLink } from '../support/insert-link.ts'
import { startPostgresAuth } from '../support/postgres-auth.ts'
import { reasonOf } from '../support/reason-of.ts'
import { get, post } from '../support/requests.ts'

const auth = await startPostgresAuth({ session: { maxSessionsPerUser: 3 }, plugins: [nicknames()] })
const { database, db, config } = auth

const SET_NICKNAME: Route = { method: 'POST', path: '/set-nickname' }
const send = async ({ path }: Route, input: object, cookie?: string) => {
  const response = await auth.handler(post(path, input, cookie === undefined ? {} : { cookie }))
  const body = await response.json()
  return { status: response.status, code: body.code ?? null }
}
const sessionsOf = (userId: string) =>
  db.selectFrom('session').select('id').where('userId', '=', userId).execute()

/** Waits until a transaction waits for a lock. */
async function waitForLock(trx: AuthTransaction): Promise<void> {
  const waiting = await sql`select 1 from pg_locks where not granted`.execute(trx)
  if (waiting.rows.length === 0) await waitForLock(trx)
}

/** Starts work that must wait for what `lock` has locked, and then releases it. */
async function meanwhile<Result>(
  lock: (trx: AuthTransaction) => Promise<unknown>,
  work: () => Promise<Result>,
  whileItWaits: (trx: AuthTransaction) => Promise<unknown> = async () => {},
): Promise<Result> {
  const begun = Promise.withResolvers<Result>()
  await db.transaction().execute(async (trx) => {
    await lock(trx)
    work().then(begun.resolve, begun.reject)
    await waitForLock(trx)
    await whileItWaits(trx)
  })
  return begun.promise
}

const lockUser = (userId: string) => (trx: AuthTransaction) =>
  trx.selectFrom('user').select('id').where('id', '=', userId).forNoKeyUpdate().execute()

test('eight concurrent sign-ins leave no more sessions than a user may have', async () => {
  const { userId } = await auth.createUser()
  await Promise.all(Array.from({ length: 8 }, () => createSession(database, { userId, config })))
  expect(await sessionsOf(userId)).toHaveLength(3)
})

test('a sign-in waits for a running ban, and is rejected', async () => {
  const { userId } = await auth.createUser()
  const signIn = await meanwhile(
    (trx) => trx.updateTable('user').set({ banned: true }).where('id', '=', userId).execute(),
    () => reasonOf(createSession(database, { userId, config })),
  )
  expect(signIn).toBe('ACCOUNT_BANNED')
  expect(await sessionsOf(userId)).toEqual([])
})

interface Victim {
  readonly userId: string
  readonly sessionId: string
  readonly cookie: string
}

const replace = ({ userId, cookie }: Victim) => {
  const [sessionId = '', secret = ''] = (cookie.split('=').at(-1) ?? '').split('.')
  return createSession(database, { userId, config, replaces: { sessionId, secret } })
}
const CHANGES: { what: string; change: (victim: Victim) => Promise<unknown> }[] = [
  { what: 'revokeSession', change: ({ sessionId }) => revokeSession(sessionId, database) },
  { what: 'revokeSessions', change: ({ userId }) => revokeSessions(userId, database) },
  { what: 'a sign-out', change: ({ cookie }) => send(ENDPOINTS.signOut, {}, cookie) },
  { what: 'delete-user', change: ({ cookie }) => send(ENDPOINTS.deleteUser, {}, cookie) },
  { what: 'revoke-sessions', change: ({ cookie }) => send(ENDPOINTS.revokeSessions, {}, cookie) },
  { what: 'a ban', change: ({ userId }) => banUser(userId, database, { now: config.now() }) },
  { what: 'a sign-in that replaces the session', change: replace },
]

test.each(CHANGES)('$what waits for the user before it locks a session', async ({ change }) => {
  const { userId } = await auth.createUser()
  const victim = { userId, ...(await auth.signIn(userId)) }
  await meanwhile(
    lockUser(userId),
    () => change(victim),
    async (trx) => {
      const session = trx.selectFrom('session').select('id').where('userId', '=', userId)
      expect(await session.forUpdate().noWait().execute()).toHaveLength(1)
    },
  )
  const isBanned = database.sessions.findSession(victim)
  expect((await isBanned)?.ban).not.toBeNull()
})

test('a renewal waits for the user before it locks a session, because its hooks may lock the user', async () => {
  const { userId } = await auth.createUser()
  const { sessionId, cookie } = await auth.signIn(userId)
  const expiresAt = new Date(config.now().getTime() + 60_000)
  await db.updateTable('session').set({ expiresAt }).where('id', '=', sessionId).execute()
  const session = db.selectFrom('session').selectAll().where('id', '=', sessionId)
  const response = await meanwhile(
    lockUser(userId),
    () => auth.handler(get(ENDPOINTS.token.path, { cookie })),
    async (trx) => {
      const [locked] = await trx.executeQuery(session.forUpdate().noWait()).then(({ rows }) => rows)
      expect(locked?.expiresAt).toEqual(expiresAt)
    },
  )
  expect(response.status).toBe(200)
  expect((await session.executeTakeFirst())?.expiresAt).not.toEqual(expiresAt)
})

test('a link used many times concurrently works once', async () => {
  const { userId, email } = await auth.createUser()
  const token = await insertLink(auth, { kind: 'verify-email', userId, email })
  const { cookie } = await auth.signIn(userId)
  const open = () => send(ENDPOINTS.verifyEmail, { token }, cookie)
  const answers = await Promise.all(Array.from({ length: 8 }, open))
  expect(answers.map(({ code }) => code).sort()).toEqual([...Array(7).fill('LINK_INVALID'), null].sort())
})

test('if two accounts change to one address concurrently, one is rejected because the address is taken', async () => {
  const [ada, bob] = [await auth.createUser(), await auth.createUser()]
  const email = `${crypto.randomUUID()}@example.com`
  const opened = async ({ userId }: { userId: string }) => ({
    token: await insertLink(auth, { kind: 'change-email', userId, email }),
    cookie: (await auth.signIn(userId)).cookie,
  })
  const links = [await opened(ada), await opened(bob)]
  const moved = await meanwhile(
    // Both read before either one has written.
    lockUser(bob.userId),
    () => Promise.all(links.map(({ token, cookie }) => send(ENDPOINTS.verifyEmail, { token }, cookie))),
  )
  expect(moved.map(({ code }) => code).sort()).toEqual(['EMAIL_TAKEN', null].sort())
})

test('if two admins delete themselves concurrently, one remains', async () => {
  await db.deleteFrom('user').execute()
  const admins = [await auth.createUser('admin'), await auth.createUser('admin')]
  const cookies = await Promise.all(admins.map(async ({ userId }) => (await auth.signIn(userId)).cookie))
  const answers = await Promise.all(cookies.map((cookie) => send(ENDPOINTS.deleteUser, {}, cookie)))
  expect(answers.map(({ code }) => code).sort()).toEqual(['LAST_ADMIN', null].sort())
  expect(await db.selectFrom('user').select('id').execute()).toHaveLength(1)
})

test('if two admins ban each other concurrently, one is banned', async () => {
  const [ada, bob] = [await auth.createUser('admin'), await auth.createUser('admin')]
  const [asAda, asBob] = [await auth.signIn(ada.userId), await auth.signIn(bob.userId)]
  const answers = await Promise.all([
    send(ENDPOINTS.banUser, { userId: bob.userId }, asAda.cookie),
    send(ENDPOINTS.banUser, { userId: ada.userId }, asBob.cookie),
  ])
  expect(answers.map(({ code }) => code).sort()).toEqual(['ACCOUNT_BANNED', null].sort())
})

test('two changes that deadlock both succeed, each reported once', async () => {
  const [ada, bob] = [await auth.createUser(), await auth.createUser()]
  let arrived = 0
  const bothWaitOnce = async (trx: AuthTransaction) => {
    arrived++
    while (arrived < 2) await sql`select 1`.execute(trx)
  }
  const banBoth = (first: string, second: string) =>
    commit(database, async (trx, record) => {
      const at = config.now()
      for (const userId of [first, second]) {
        await trx.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
        record({ type: 'user.banned', userId, reason: null, expiresAt: null, actorId: null, at, from: null })
        if (userId === first) await bothWaitOnce(trx)
      }
    })
  await Promise.all([banBoth(ada.userId, bob.userId), banBoth(bob.userId, ada.userId)])
  const audit = await db
    .selectFrom('sallyport.audit')
    .select('userId')
    .where('type', '=', 'user.banned')
    .where('userId', 'in', [ada.userId, bob.userId])
    .execute()
  expect(audit).toHaveLength(4)
})

test('a user who was deleted meanwhile gets an error at sign-in', async () => {
  const { userId } = await auth.createUser()
  const signIn = await meanwhile(
    (trx) => trx.deleteFrom('user').where('id', '=', userId).execute(),
    () => codeOf(createSession(database, { userId, config })),
  )
  expect(signIn).toBe('USER_NOT_FOUND')
})

test('a nickname that two users choose at once is taken for one of them', async () => {
  const users = await Promise.all([auth.createUser(), auth.createUser()])
  const cookies = await Promise.all(users.map(async ({ userId }) => (await auth.signIn(userId)).cookie))
  // Both look before one of them writes.
  const responses = await meanwhile(
    (trx) => sql`lock table "user" in exclusive mode`.execute(trx),
    () => Promise.all(cookies.map((cookie) => send(SET_NICKNAME, { nickname: 'countess' }, cookie))),
    async function waitForBoth(trx): Promise<void> {
      const waiting = await sql`select 1 from pg_locks where not granted`.execute(trx)
      if (waiting.rows.length < 2) await waitForBoth(trx)
    },
  )
  expect(responses.map(({ status, code }) => [status, code]).sort()).toEqual([
    [200, null],
    [409, 'NICKNAME_TAKEN'],
  ])
})
