import { type AuthDatabase, withAuthStore } from '../adapters/direct-adapter.ts'
import { type Auth, createAuth } from '../auth.ts'
import { type AuthConfig, type AuthConfigOptions, defineAuthConfig } from '../config.ts'
import type { AuthKysely } from '../database/schema.ts'
import { type AuthDefinition, type AuthPlugin, defineAuth } from '../definition.ts'
import { issueJwt } from '../jwt/issue-jwt.ts'
import { createSigningKey, parseSigningKeys } from '../keys/signing-keys.ts'
import { staticJwks } from '../keys/static-jwks.ts'
import { admin } from '../plugins/admin.ts'
import { createPasswordAccount, emailPassword } from '../plugins/email-password.ts'
import { banUser, createSession, revokeSession, type SessionDatabase } from '../session/lifecycle.ts'
import { openSqlite } from '../sqlite.ts'
import { countLookups, type LookupCounter } from './count-lookups.ts'
import { createTestClock, type TestClock } from './test-clock.ts'

/** The password of every user that {@link TestAuth.createUser} makes. */
export const TEST_PASSWORD = 'correct horse battery staple'

/** A signed-in browser. */
export interface TestSession {
  readonly userId: string
  readonly sessionId: string
  readonly token: string
  /** Value of the session cookie. */
  readonly sessionCookie: string
  /** A `Cookie` header with both cookies. */
  readonly cookie: string
}

/** A whole auth server for tests, with helpers that bring about every state of the spec. */
export interface TestAuth extends Auth {
  readonly config: AuthConfig
  readonly definition: AuthDefinition
  readonly clock: TestClock
  readonly db: AuthKysely & AuthDatabase
  readonly database: SessionDatabase
  /** Counts the database lookups of Step 2. */
  readonly lookups: LookupCounter
  createUser(options?: { email?: string; role?: string }): Promise<{ userId: string; email: string }>
  /** Signs a user in; a new one unless `userId` is given. */
  signIn(options?: { userId?: string; role?: string }): Promise<TestSession>
  /** The same browser after its JWT has expired: a JWT of 16 minutes ago beside the same session cookie. */
  expireJwt(session: TestSession): Promise<TestSession>
  expireSession(session: TestSession): Promise<void>
  revoke(session: TestSession): Promise<void>
  ban(session: TestSession): Promise<void>
  close(): Promise<void>
}

/**
 * An auth server in memory with a fake clock, new keys, `emailPassword()` and `admin()`.
 *
 * @example
 * const auth = await createTestAuth()
 * const ada = await auth.signIn({ role: 'admin' })
 * await auth.handler(new Request('http://localhost/api/auth/backend/token', { headers: { cookie: ada.cookie } }))
 */
export async function createTestAuth(
  options: Partial<Omit<AuthConfigOptions, 'jwks' | 'now'>> & {
    clock?: TestClock
    databaseUrl?: string
    plugins?: readonly AuthPlugin[]
  } = {},
): Promise<TestAuth> {
  const { clock = createTestClock(), databaseUrl = ':memory:', plugins = [], ...configOptions } = options
  const signingKeys = { keys: [await createSigningKey()] }
  const jwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const config = defineAuthConfig({
    baseUrl: 'http://localhost:3000',
    ...configOptions,
    jwks,
    now: clock.now,
  })
  const definition = defineAuth({ config, signingKeys, plugins: [emailPassword(), admin(), ...plugins] })
  const sqlite = await openSqlite(databaseUrl)
  const lookups = countLookups(sqlite.sessions)
  const database = { db: sqlite.db, sessions: lookups.sessions, revocations: sqlite.revocations }
  const db = withAuthStore(sqlite.db, database)

  async function withToken(
    session: Omit<TestSession, 'token' | 'cookie'>,
    issuedAt: Date,
  ): Promise<TestSession> {
    const expiresAt = new Date(8.64e15)
    const { token } = await issueJwt(
      { id: session.sessionId, userId: session.userId, expiresAt },
      { key: definition.signingKeys.active, config, now: issuedAt },
    )
    const cookie = `${config.cookies.jwt}=${token}; ${config.cookies.session}=${session.sessionCookie}`
    return { ...session, token, cookie }
  }

  async function createUser({ email = `${crypto.randomUUID()}@example.com`, role = 'user' } = {}) {
    const user = { name: 'Test User', email, password: TEST_PASSWORD, role, now: clock.now() }
    return { ...(await createPasswordAccount(db, user)), email }
  }

  return {
    ...createAuth(definition, database),
    config,
    definition,
    clock,
    db,
    database,
    lookups,
    createUser,
    async signIn({ userId, role = 'user' } = {}) {
      const owner = userId ?? (await createUser({ role })).userId
      const lifetimeSeconds = config.sessionLifetimeSeconds
      const session = await createSession(database, {
        userId: owner,
        userAgent: null,
        lifetimeSeconds,
        now: clock.now(),
      })
      const signedIn = { userId: owner, sessionId: session.id, sessionCookie: session.cookie }
      return withToken(signedIn, clock.now())
    },
    expireJwt({ userId, sessionId, sessionCookie }) {
      const issuedAt = new Date(clock.now().getTime() - (config.jwtLifetimeSeconds + 60) * 1000)
      return withToken({ userId, sessionId, sessionCookie }, issuedAt)
    },
    async expireSession({ sessionId }) {
      await db.updateTable('session').set({ expiresAt: clock.now() }).where('id', '=', sessionId).execute()
    },
    async revoke({ sessionId }) {
      await revokeSession(sessionId, database)
    },
    ban: ({ userId }) => banUser(userId, database, { now: clock.now() }),
    close: sqlite.close,
  }
}
