import type { Kysely } from 'kysely'
import type { AuthTables, Flag, NullableTimestamp, Timestamp } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'

export type FlowPurpose = 'sign-in' | 'link' | 'reauthenticate'

export type OauthTables = {
  /** Visits to a provider that haven't come back. `id` is the hash of `state`. */
  oauthFlow: {
    id: string
    provider: string
    purpose: FlowPurpose
    /** The hash of the secret in the browser's cookie; null for an app, which has `codeChallenge`. */
    browser: string | null
    /** With `state`, which isn't stored, it gives the code verifier and the nonce. */
    salt: string
    /** Checked URLs. */
    redirectTo: string
    errorTo: string
    remembered: Flag
    /** S256 of the app's code verifier (RFC 7636). */
    codeChallenge: string | null
    /** The session that began it; null for a sign-in. */
    userId: string | null
    sessionId: string | null
    version: number | null
    /** The person's name, which Apple posts once, beside the code. */
    personName: string | null
    expiresAt: Timestamp
    createdAt: Timestamp
  }
  /** Visits that an app completes. `id` is the hash of the code in the deep link. */
  oauthCode: {
    id: string
    accountId: string
    codeChallenge: string
    /** A JSON array of methods. */
    amr: string
    acr: string | null
    remembered: Flag
    /** The session that it re-authenticates; null for a sign-in. */
    sessionId: string | null
    expiresAt: Timestamp
  }
  /** Encrypted under `ENCRYPTION_KEYS`. `accountId` is the row in `account`. */
  oauthToken: {
    accountId: string
    accessToken: string
    refreshToken: string | null
    scope: string
    accessExpiresAt: NullableTimestamp
    updatedAt: Timestamp
  }
  /** Providers that were removed from a user. Their emails don't link them again. */
  oauthUnlinked: { id: string; userId: string; provider: string; createdAt: Timestamp }
}

export function withOwnTables(db: Kysely<AuthTables>): Kysely<AuthTables & OauthTables> {
  return db.$extendTables<OauthTables>()
}

export const migrations: Migrations = {
  async '0001_oauth'(schema, { timestamp, flag }) {
    await schema
      .createTable('oauthFlow')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('provider', 'text', (column) => column.notNull())
      .addColumn('purpose', 'text', (column) => column.notNull())
      .addColumn('browser', 'text')
      .addColumn('salt', 'text', (column) => column.notNull())
      .addColumn('redirectTo', 'text', (column) => column.notNull())
      .addColumn('errorTo', 'text', (column) => column.notNull())
      .addColumn('remembered', flag, (column) => column.notNull())
      .addColumn('codeChallenge', 'text')
      .addColumn('userId', 'text', (column) => column.references('user.id').onDelete('cascade'))
      .addColumn('sessionId', 'text')
      .addColumn('version', 'integer')
      .addColumn('personName', 'text')
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    await schema
      .createTable('oauthCode')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('accountId', 'text', (column) =>
        column.notNull().references('account.id').onDelete('cascade'),
      )
      .addColumn('codeChallenge', 'text', (column) => column.notNull())
      .addColumn('amr', 'text', (column) => column.notNull())
      .addColumn('acr', 'text')
      .addColumn('remembered', flag, (column) => column.notNull())
      .addColumn('sessionId', 'text')
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .execute()
    await schema
      .createTable('oauthToken')
      .addColumn('accountId', 'text', (column) =>
        column.notNull().primaryKey().references('account.id').onDelete('cascade'),
      )
      .addColumn('accessToken', 'text', (column) => column.notNull())
      .addColumn('refreshToken', 'text')
      .addColumn('scope', 'text', (column) => column.notNull())
      .addColumn('accessExpiresAt', timestamp)
      .addColumn('updatedAt', timestamp, (column) => column.notNull())
      .execute()
    await schema.createIndex('oauthFlow_userId').on('oauthFlow').column('userId').execute()
    await schema.createIndex('oauthFlow_expiresAt').on('oauthFlow').column('expiresAt').execute()
    await schema.createIndex('oauthCode_accountId').on('oauthCode').column('accountId').execute()
    await schema.createIndex('oauthCode_expiresAt').on('oauthCode').column('expiresAt').execute()
  },
  async '0002_oauth_unlinked'(schema, { timestamp }) {
    await schema
      .createTable('oauthUnlinked')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('provider', 'text', (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    const unique = schema.createIndex('oauthUnlinked_userId_provider').unique()
    await unique.on('oauthUnlinked').columns(['userId', 'provider']).execute()
  },
}
