import { type AuthConfig, type AuthDatabase, withAuthStore } from '@sallyport/core'
import {
  type Auth,
  type AuthDefinition,
  type AuthPlugin,
  type AuthTables,
  banUser,
  createAuth,
  defineAuth,
  revokeSession,
  type SessionDatabase,
} from '@sallyport/core/auth'
import { authStore } from '@sallyport/core/internal/server'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres, type PostgresOptions } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { type Kysely, sql } from 'kysely'
import { createIssuer, type Issuer } from '../../../core/test/support/create-issuer.ts'
import { PATIENT, PATIENT_SESSION } from '../../../core/test/support/postgres.ts'
import { insertSignedIn, type SignedIn } from '../revocation/signed-in-users.ts'

/** The app's own tables. */
export type NoteTables = { note: { id: string; text: string } }

/** The app's database. */
export type AppKysely = Kysely<AuthTables & NoteTables> & AuthDatabase

/** An app that writes notes. */
export interface App {
  readonly config: AuthConfig
  readonly db: AppKysely
  readonly database: SessionDatabase
  readonly auth: Auth<AuthDefinition['plugins']>
  signIn(role?: string): Promise<SignedIn>
  notes(): Promise<string[]>
  revoke(session: SignedIn): Promise<unknown>
  ban(session: SignedIn): Promise<unknown>
  close(): Promise<void>
}

/** The options of {@link openApp}. */
export interface AppOptions extends Pick<PostgresOptions, 'statementTimeoutMs'> {
  /** The tokens' issuer, if several nodes share a database. */
  readonly issuer?: Issuer
  readonly plugins?: readonly AuthPlugin[]
}

/** Opens the app on the URL's database, and creates its table. */
export async function openApp(url: string, options: AppOptions = {}): Promise<App> {
  const { issuer = await createIssuer({ session: PATIENT_SESSION }), plugins = [], ...postgres } = options
  const { config } = issuer
  const opened = url.startsWith('postgres:')
    ? await openPostgres<NoteTables>(url, { ...PATIENT, ...postgres })
    : await openSqlite<NoteTables>(url)
  const definition = defineAuth({
    config,
    signingKeys: issuer.signingKeys,
    plugins: [emailPassword(), admin(), ...plugins],
  })
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  const { database } = auth
  const db: AppKysely = withAuthStore(opened.db, opened.db[authStore])
  await sql`create table if not exists note (id text primary key, text text not null)`.execute(db)
  return {
    config,
    db,
    database,
    auth,
    async signIn(role = 'user') {
      const [person] = await insertSignedIn(db, 1, { issuer, role })
      if (person === undefined) throw new TypeError('One was expected')
      return person
    },
    notes: async () =>
      (await db.selectFrom('note').select('text').orderBy('text').execute()).map(({ text }) => text),
    revoke: ({ sessionId }) => revokeSession(sessionId, database),
    ban: ({ userId }) => banUser(userId, database, { now: config.now() }),
    async close() {
      auth.close()
      await opened.close()
    },
  }
}
