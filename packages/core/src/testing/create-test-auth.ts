import { type Auth, createAuth } from '../auth.ts'
import { type AuthConfig, type AuthConfigOptions, defineAuthConfig } from '../config.ts'
import { columnsOf } from '../database/schema/columns.ts'
import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import {
  type AppPlugin,
  type AuthDefinition,
  type AuthPlugin,
  defineAuth,
  requireSigningKeys,
} from '../endpoints/definition.ts'
import { issueJwt } from '../jwt/issue-jwt.ts'
import { createSigningKey, parseSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { staticJwks } from '../keys/static-jwks.ts'
import { banUser } from '../lifecycle/ban-user.ts'
import { commit } from '../lifecycle/commit.ts'
import { createSession } from '../lifecycle/create-session.ts'
import { revokeSession } from '../lifecycle/end-session.ts'
import { admin } from '../plugins/admin/admin.ts'
import { insertAccount } from '../plugins/email-password/accounts.ts'
import { emailPassword } from '../plugins/email-password/email-password.ts'
import { hashPassword } from '../plugins/email-password/password.ts'
import type { EmailPasswordOptions } from '../plugins/email-password/settings.ts'
import { type AuthDatabase, withAuthStore } from '../session/auth-store.ts'
import { createSecret } from '../session/secret.ts'
import { openSqlite } from '../sqlite.ts'
import { countLookups, createTestClock, type LookupCounter, type TestClock } from './instruments.ts'

/** The default password of {@link TestAuth.createUser}. */
export const TEST_PASSWORD = 'correct horse battery staple'

/** A signed-in browser. */
export interface TestSession {
  readonly userId: string
  readonly sessionId: string
  readonly token: string
  readonly version: number
  readonly issuer: string
  readonly sessionCookie: string
  /** A `Cookie` header with both cookies. */
  readonly cookie: string
}

export type TestPlugins<Plugins extends readonly AuthPlugin[] = readonly []> = readonly [
  ReturnType<typeof emailPassword>,
  ReturnType<typeof admin>,
  ...Plugins,
]

export type TestDefinition<Plugins extends readonly AuthPlugin[] = readonly []> = AuthDefinition<
  readonly [...TestPlugins<Plugins>, AppPlugin<Record<never, never>, Record<never, never>>]
> & { readonly signingKeys: SigningKeys }

type NewTestUser = { email?: string; role?: string; password?: string }

/** An auth server for tests, with helpers for every state in the spec. */
export interface TestAuth<Plugins extends readonly AuthPlugin[] = readonly []>
  extends Omit<Auth<TestDefinition<Plugins>['plugins']>, 'close'> {
  readonly config: AuthConfig
  readonly definition: TestDefinition<Plugins>
  readonly clock: TestClock
  /** For `ctx.db`, and for reading the tables. */
  readonly db: AuthKysely & AuthDatabase
  readonly lookups: LookupCounter
  /** Creates a user, by default with {@link TEST_PASSWORD}, the role `user`, and a random email. */
  createUser(options?: NewTestUser): Promise<{ userId: string; email: string }>
  /** Signs a user in, by default a new one. */
  signIn(options?: { userId?: string; role?: string }): Promise<TestSession>
  /** Returns the same browser with an expired JWT and the same session cookie. */
  expireJwt(session: TestSession): Promise<TestSession>
  expireSession(session: TestSession): Promise<void>
  /** Deletes the session, as an admin would. */
  revoke(session: TestSession): Promise<void>
  /** Bans the user of the session forever. Keeps the session. */
  ban(session: TestSession): Promise<void>
  close(): Promise<void>
}

export interface TestAuthOptions<Plugins extends readonly AuthPlugin[]> {
  clock?: TestClock
  /** @default ':memory:' */
  databaseUrl?: string
  emailPassword?: EmailPasswordOptions
  plugins?: Plugins
}

const hashes = new Map<string, Promise<string>>()

/** Hashing is slow, and most users have the same password. */
function hashOnce(password: string): Promise<string> {
  const hash = hashes.get(password) ?? hashPassword(password)
  hashes.set(password, hash)
  // The queue may have been full.
  hash.catch(() => hashes.delete(password))
  return hash
}

/**
 * Creates an auth server in memory with a fake clock, new keys, `emailPassword()`, and `admin()`.
 * @example
 * const auth = await createTestAuth()
 * const ada = await auth.signIn({ role: 'admin' })
 * const request = new Request(auth.config.baseUrl, { headers: { cookie: ada.cookie } })
 * const { users } = await auth.api.listUsers({ request })
 */
export async function createTestAuth<const Plugins extends readonly AuthPlugin[] = readonly []>(
  options: Partial<Omit<AuthConfigOptions, 'jwks' | 'now'>> & TestAuthOptions<Plugins> = {},
): Promise<TestAuth<Plugins>> {
  const { clock = createTestClock(), databaseUrl = ':memory:' } = options
  const { emailPassword: emailPasswordOptions, plugins, ...configOptions } = options
  const signingKeys = { keys: [await createSigningKey()] }
  const jwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const baseUrl = 'http://localhost:3000'
  const config = defineAuthConfig({ baseUrl, ...configOptions, jwks, now: clock.now })
  const added = plugins ?? ([] as readonly AuthPlugin[] as Plugins)
  const allPlugins: TestPlugins<Plugins> = [emailPassword(emailPasswordOptions), admin(), ...added]
  const encryptionKeys = createSecret()
  const defined = defineAuth({ config, signingKeys, encryptionKeys, plugins: allPlugins })
  const definition = { ...defined, signingKeys: requireSigningKeys(defined) }
  const sqlite = await openSqlite(databaseUrl, { columns: columnsOf(definition) })
  const lookups = countLookups(sqlite.sessions)
  const counted = { ...sqlite, sessions: lookups.sessions }
  const db = withAuthStore(sqlite.db, { ...counted, database: counted })
  const auth = await createAuth(definition, counted, { pruneEverySeconds: 0 })

  async function withToken(
    session: Omit<TestSession, 'token' | 'cookie' | 'issuer'>,
    issuedAt: Date,
  ): Promise<TestSession> {
    const expiresAt = new Date(8.64e15)
    const { token } = await issueJwt(
      { id: session.sessionId, userId: session.userId, expiresAt, version: session.version },
      { key: definition.signingKeys.active, config, now: issuedAt },
    )
    const cookie = `${config.cookies.jwt}=${token}; ${config.cookies.session}=${session.sessionCookie}`
    return { ...session, issuer: config.issuer, token, cookie }
  }

  async function createUser({
    email = `${crypto.randomUUID()}@example.com`,
    role = 'user',
    password = TEST_PASSWORD,
  } = {}) {
    const passwordHash = await hashOnce(password)
    const account = { name: 'Test User', email, passwordHash, role, now: clock.now() }
    const { userId } = await commit(auth.database, (trx, record) => insertAccount(trx, record, account))
    return { userId, email }
  }

  return {
    ...auth,
    config,
    definition,
    clock,
    db,
    lookups,
    createUser,
    async signIn({ userId, role = 'user' } = {}) {
      const owner = userId ?? (await createUser({ role })).userId
      const proved = { userId: owner, config, amr: ['pwd'] }
      const { id, version, cookie } = await createSession(auth.database, proved)
      const session = { userId: owner, sessionId: id, version, sessionCookie: cookie }
      return withToken(session, clock.now())
    },
    expireJwt({ userId, sessionId, version, sessionCookie }) {
      const issuedAt = new Date(clock.now().getTime() - (config.jwtLifetimeSeconds + 60) * 1000)
      return withToken({ userId, sessionId, version, sessionCookie }, issuedAt)
    },
    async expireSession({ sessionId }) {
      await db.updateTable('session').set({ expiresAt: clock.now() }).where('id', '=', sessionId).execute()
    },
    async revoke({ sessionId }) {
      await revokeSession(sessionId, auth.database)
    },
    async ban({ userId }) {
      await banUser(userId, auth.database, { now: clock.now() })
    },
    async close() {
      await auth.close()
      await sqlite.close()
    },
  }
}
