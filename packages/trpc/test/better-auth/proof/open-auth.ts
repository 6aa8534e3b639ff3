import { createHash, randomUUID } from 'node:crypto'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin, bearer, genericOAuth, multiSession, organization, twoFactor } from 'better-auth/plugins'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import type { PostgresServer } from '../../../../core/test/support/postgres.ts'
import { ORIGIN } from '../../support/visitor.ts'

export const SECRET = 'a-secret-of-at-least-32-characters-for-tests'

type CookieCache = NonNullable<NonNullable<BetterAuthOptions['session']>['cookieCache']>

/** A database of Better Auth, and a way to change rows by hand. */
interface OpenDatabase {
  readonly client: SqliteDatabase.Database | pg.Pool
  run(sql: string): Promise<void>
  close(): Promise<void>
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

async function openDatabase(postgres: PostgresServer | null): Promise<OpenDatabase> {
  if (postgres === null) {
    const client = new SqliteDatabase(':memory:')
    return { client, run: async (sql) => void client.exec(sql), close: async () => void client.close() }
  }
  const url = await postgres.createDatabase(`proof_${randomUUID()}`)
  const client = new pg.Pool({ connectionString: url })
  return { client, run: async (sql) => void (await client.query(sql)), close: () => client.end() }
}

/** Opens Better Auth with the plugins that change sessions. `codes` are the second factors that it sent. */
export async function openAuth(postgres: PostgresServer | null, cookieCache: CookieCache = {}) {
  const database = await openDatabase(postgres)
  const codes = new Map<string, string>()
  const options = {
    baseURL: ORIGIN,
    secret: SECRET,
    database: database.client,
    rateLimit: { enabled: false },
    logger: { disabled: true },
    session: { cookieCache },
    user: { deleteUser: { enabled: true } },
    emailAndPassword: {
      enabled: true,
      // Thousands of users sign in.
      password: {
        hash: async (password: string) => sha256(password),
        verify: async (given: { hash: string; password: string }) => given.hash === sha256(given.password),
      },
    },
    plugins: [
      admin(),
      organization(),
      multiSession(),
      bearer(),
      twoFactor({
        skipVerificationOnEnable: true,
        otpOptions: { sendOTP: async ({ user, otp }) => void codes.set(user.email, otp) },
      }),
      genericOAuth({
        config: [
          {
            providerId: 'provider',
            clientId: 'app',
            clientSecret: 'secret of the app',
            authorizationUrl: 'https://provider.example/authorize',
            tokenUrl: 'https://provider.example/token',
            // Only the requests to the provider are replaced. The code is the email.
            getToken: async ({ code }) => ({ accessToken: code }),
            getUserInfo: async ({ accessToken = '' }) => ({
              id: accessToken,
              email: accessToken,
              name: 'Ada',
              emailVerified: true,
            }),
          },
        ],
      }),
    ],
  } satisfies BetterAuthOptions
  const auth = betterAuth(options)
  await (await getMigrations(options)).runMigrations()
  return { auth, codes, ...database }
}
