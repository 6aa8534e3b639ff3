import type { AuthConfig, AuthConfigOptions } from '@sallyport/core'
import {
  type Auth,
  type AuthPlugin,
  createAuth,
  createSession,
  defineAuth,
  issueJwt,
} from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { type EmailPasswordOptions, emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres, type PostgresAuthDatabase } from '@sallyport/core/postgres'
import type { TestClock } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import { columnsOf } from '../../src/database/schema/columns.ts'
import { createSecret } from '../../src/session/secret.ts'
import { createTestClock } from '../../src/testing/instruments.ts'
import { createIssuer } from './create-issuer.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from './postgres.ts'
import { createUserMaker, type MadeUser } from './user-maker.ts'

type Plugins = readonly [ReturnType<typeof emailPassword>, ReturnType<typeof admin>]

/** An auth server with a separate PostgreSQL server. */
export interface PostgresAuth extends Pick<Auth<Plugins>, 'handler' | 'database'> {
  readonly config: AuthConfig
  readonly clock: TestClock
  readonly db: PostgresAuthDatabase<unknown>['db']
  createUser(role?: string): Promise<MadeUser>
  /** Signs a user in, and returns the `Cookie` header of their browser. */
  signIn(userId: string): Promise<{ sessionId: string; cookie: string }>
}

interface PostgresAuthOptions extends Partial<AuthConfigOptions> {
  emailPassword?: EmailPasswordOptions
  plugins?: readonly AuthPlugin[]
  /** Of `postgresql.conf`. */
  postgres?: Readonly<Record<string, string>>
}

/** Starts a server, which is closed after the tests of the file. */
export async function startPostgresAuth({
  emailPassword: emailPasswordOptions,
  plugins: added = [],
  postgres,
  ...options
}: PostgresAuthOptions = {}): Promise<PostgresAuth> {
  const server = await testPostgres(postgres)
  const clock = createTestClock()
  const { config, key, signingKeys } = await createIssuer({
    ...options,
    session: { ...PATIENT_SESSION, ...options.session },
    now: clock.now,
  })
  const plugins = [emailPassword(emailPasswordOptions), admin(), ...added] as const
  const encryptionKeys = createSecret()
  const definition = defineAuth({ config, signingKeys, encryptionKeys, plugins })
  const columns = columnsOf(definition)
  const opened = await openPostgres(await server.createDatabase('app'), { ...PATIENT, columns })
  afterAll(opened.close)
  const { handler, database } = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  return {
    config,
    clock,
    db: opened.db,
    handler,
    database,
    createUser: await createUserMaker({ database, clock }),
    async signIn(userId) {
      const { id, cookie, expiresAt } = await createSession(database, { userId, config })
      const { token } = await issueJwt({ id, userId, expiresAt }, { key, config })
      const { cookies } = config
      return { sessionId: id, cookie: `${cookies.jwt}=${token}; ${cookies.session}=${cookie}` }
    },
  }
}
