import type { Kysely } from 'kysely'
import type { AuthTables, Timestamp } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'
import type { KnownBrowserRow } from '../known-browsers.ts'

export type EmailCodeTables = {
  /** Codes that were requested. They name no user, so a row is the same with and without an account. */
  emailCode: {
    /** `sha256:<hex>` of the secret that only the requesting browser has. */
    id: string
    email: string
    /** `sha256:<hex>` of that secret and the code; empty if no email has a code. */
    code: string
    /**
     * `sha256:<hex>` of the token in the link; empty if no email has one. It begins with `uncounted:` if the
     * request didn't use up the limit of its address.
     */
    token: string
    attempts: number
    expiresAt: Timestamp
  }
  /** Browsers that have signed in. */
  emailCodeBrowser: KnownBrowserRow
}

export function withOwnTables(db: Kysely<AuthTables>): Kysely<AuthTables & EmailCodeTables> {
  return db.$extendTables<EmailCodeTables>()
}

export const migrations: Migrations = {
  async '0001_email_code'(schema, { timestamp }) {
    await schema
      .createTable('emailCode')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('code', 'text', (column) => column.notNull())
      .addColumn('token', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .execute()
    await schema.createIndex('emailCode_expiresAt').on('emailCode').column('expiresAt').execute()
    await schema
      .createTable('emailCodeBrowser')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    for (const column of ['userId', 'expiresAt'])
      await schema.createIndex(`emailCodeBrowser_${column}`).on('emailCodeBrowser').column(column).execute()
  },
}
