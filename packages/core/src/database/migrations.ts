import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'

/** How a database writes the types that differ; everything else in a migration is the same on all of them. */
export interface MigrationDialect {
  readonly timestamp: RawBuilder<unknown>
  readonly flag: RawBuilder<unknown>
  readonly no: RawBuilder<unknown>
}

/** ISO 8601 text and 0 or 1. */
export const sqliteTypes: MigrationDialect = { timestamp: sql`text`, flag: sql`integer`, no: sql`0` }

/** What a migration run did. */
export interface MigrationReport {
  /** Names of the migrations that ran now, in order. */
  readonly applied: string[]
}

/**
 * Brings the tables up to date, in one transaction. Safe to call at every start and from several processes at once.
 *
 * @throws the error of the migration that failed; then none is applied
 */
export async function migrate(db: Kysely<unknown>, dialect: MigrationDialect): Promise<MigrationReport> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => createMigrations(dialect) },
    migrationTableName: 'sallyport_migration',
    migrationLockTableName: 'sallyport_migration_lock',
  })
  const known = await migrator.getMigrations()
  // Where nothing is left to do nothing is written, so a start need not wait for another process that writes.
  const isUpToDate = known.every(({ executedAt }) => executedAt !== undefined)
  const { error, results = [] } = await migrator.migrateToLatest({ disableTransactions: isUpToDate })
  if (error !== undefined) throw error
  return {
    applied: results.filter(({ status }) => status === 'Success').map(({ migrationName }) => migrationName),
  }
}

function createMigrations({ timestamp, flag, no }: MigrationDialect): Record<string, Migration> {
  return {
    '0001_sessions': {
      async up(db: Kysely<unknown>) {
        await db.schema
          .createTable('user')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('name', 'text', (column) => column.notNull())
          .addColumn('email', 'text', (column) => column.notNull().unique())
          .addColumn('emailVerified', flag, (column) => column.notNull().defaultTo(no))
          .addColumn('image', 'text')
          .addColumn('role', 'text', (column) => column.notNull().defaultTo('user'))
          .addColumn('banned', flag, (column) => column.notNull().defaultTo(no))
          .addColumn('banReason', 'text')
          .addColumn('banExpires', timestamp)
          .addColumn('createdAt', timestamp, (column) => column.notNull())
          .addColumn('updatedAt', timestamp, (column) => column.notNull())
          .execute()
        await db.schema
          .createTable('session')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('token', 'text', (column) => column.notNull().unique())
          .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
          .addColumn('ipAddress', 'text')
          .addColumn('userAgent', 'text')
          .addColumn('expiresAt', timestamp, (column) => column.notNull())
          .addColumn('lastAuthenticatedAt', timestamp, (column) => column.notNull())
          .addColumn('lastSeenAt', timestamp, (column) => column.notNull())
          .addColumn('createdAt', timestamp, (column) => column.notNull())
          .addColumn('updatedAt', timestamp, (column) => column.notNull())
          .execute()
        await db.schema.createIndex('session_expiresAt').on('session').column('expiresAt').execute()
        await db.schema.createIndex('session_userId').on('session').column('userId').execute()
        await db.schema
          .createTable('account')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
          .addColumn('accountId', 'text', (column) => column.notNull())
          .addColumn('providerId', 'text', (column) => column.notNull())
          .addColumn('password', 'text')
          .addColumn('createdAt', timestamp, (column) => column.notNull())
          .addColumn('updatedAt', timestamp, (column) => column.notNull())
          .addUniqueConstraint('account_provider', ['providerId', 'accountId'])
          .execute()
        await db.schema.createIndex('account_userId').on('account').column('userId').execute()
      },
    },
  }
}
