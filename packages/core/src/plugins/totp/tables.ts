import type { Kysely } from 'kysely'
import type { AuthTables, NullableTimestamp, Timestamp } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'
import type { KnownBrowserRow } from '../known-browsers.ts'

export type TotpTables = {
  totp: {
    userId: string
    /** Encrypted under `ENCRYPTION_KEYS`. */
    secret: string
    /** Null until the user has sent a first code. */
    confirmedAt: NullableTimestamp
    /** The time step of the last accepted code (RFC 6238 section 5.2). */
    lastStep: number
    createdAt: Timestamp
  }
  /** Unused recovery codes. `id` is a hash of the user and the code. */
  recoveryCode: { id: string; userId: string; createdAt: Timestamp }
  /** Browsers that sign in without a code. */
  trustedDevice: KnownBrowserRow
}

export function withOwnTables(db: Kysely<AuthTables>): Kysely<AuthTables & TotpTables> {
  return db.$extendTables<TotpTables>()
}

export const migrations: Migrations = {
  async '0001_totp'(schema, { timestamp }) {
    await schema
      .createTable('totp')
      .addColumn('userId', 'text', (column) =>
        column.notNull().primaryKey().references('user.id').onDelete('cascade'),
      )
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('confirmedAt', timestamp)
      .addColumn('lastStep', 'integer', (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    for (const table of ['recoveryCode', 'trustedDevice']) {
      const owned = schema
        .createTable(table)
        .addColumn('id', 'text', (column) => column.notNull().primaryKey())
        .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
        .addColumn('createdAt', timestamp, (column) => column.notNull())
      const complete =
        table === 'trustedDevice'
          ? owned.addColumn('expiresAt', timestamp, (column) => column.notNull())
          : owned
      await complete.execute()
      await schema.createIndex(`${table}_userId`).on(table).column('userId').execute()
    }
    await schema.createIndex('trustedDevice_expiresAt').on('trustedDevice').column('expiresAt').execute()
  },
}
