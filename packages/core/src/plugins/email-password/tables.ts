import type { Kysely } from 'kysely'
import type { AuthTables, Timestamp } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'
import type { KnownBrowserRow } from '../known-browsers.ts'

export type LinkPurpose = 'verify-email' | 'change-email' | 'reset-password' | 'undo-email-change'

export type EmailPasswordTables = {
  /** Links that were sent by email and can be used once. */
  verification: {
    /** `sha256:<hex>` of the token in the link. */
    id: string
    purpose: LinkPurpose
    userId: string
    email: string
    expiresAt: Timestamp
    createdAt: Timestamp
  }
  /** Browsers that have signed in to an account before. `device` is `sha256:<hex>` of the device cookie. */
  knownDevice: KnownBrowserRow & { device: string }
  /** In lower case. Empty without the option `usernames`. */
  username: { userId: string; username: string }
}

export function withOwnTables(db: Kysely<AuthTables>): Kysely<AuthTables & EmailPasswordTables> {
  return db.$extendTables<EmailPasswordTables>()
}

export const migrations: Migrations = {
  async '0001_verification'(schema, { timestamp }) {
    await schema
      .createTable('verification')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('purpose', 'text', (column) => column.notNull())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('email', 'text', (column) => column.notNull())
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    await schema.createIndex('verification_userId').on('verification').column('userId').execute()
    await schema.createIndex('verification_expiresAt').on('verification').column('expiresAt').execute()
  },
  async '0002_known_device'(schema, { timestamp }) {
    await schema
      .createTable('knownDevice')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('device', 'text', (column) => column.notNull())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    const unique = schema.createIndex('knownDevice_device_userId').unique()
    await unique.on('knownDevice').columns(['device', 'userId']).execute()
    await schema.createIndex('knownDevice_userId').on('knownDevice').column('userId').execute()
    await schema.createIndex('knownDevice_expiresAt').on('knownDevice').column('expiresAt').execute()
  },
  // Sign-up looks up whether an address is reserved.
  async '0003_verification_email'(schema) {
    await schema.createIndex('verification_email').on('verification').column('email').execute()
  },
  async '0004_username'(schema) {
    await schema
      .createTable('username')
      .addColumn('userId', 'text', (column) =>
        column.notNull().primaryKey().references('user.id').onDelete('cascade'),
      )
      .addColumn('username', 'text', (column) => column.notNull())
      .execute()
    await schema.createIndex('username_username').unique().on('username').column('username').execute()
  },
}
