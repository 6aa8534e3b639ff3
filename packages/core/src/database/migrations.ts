import { type Kysely, type RawBuilder, type SchemaModule, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Engine } from './mapping.ts'
import { revocationLogStatements } from './revocation-log.ts'

/** The types that differ between databases. */
export interface MigrationDialect {
  /** For statements that only one database has, such as a trigger. */
  readonly engine: Engine
  readonly timestamp: RawBuilder<unknown>
  readonly flag: RawBuilder<unknown>
  readonly no: RawBuilder<unknown>
  readonly yes: RawBuilder<unknown>
}

/** ISO 8601 text, and 0 or 1. */
export const sqliteTypes: MigrationDialect = {
  engine: 'sqlite',
  timestamp: sql`text`,
  flag: sql`integer`,
  no: sql`0`,
  yes: sql`1`,
}

export const postgresTypes: MigrationDialect = {
  engine: 'postgres',
  timestamp: sql`timestamptz`,
  flag: sql`boolean`,
  no: sql`false`,
  yes: sql`true`,
}

/** Migrations by name, such as `0001_devices`. Each runs once, in the order of names. `db` is for raw SQL. */
export type Migrations = Readonly<
  Record<string, (schema: SchemaModule, types: MigrationDialect, db: Kysely<unknown>) => Promise<void>>
>

/** The names of the migrations that ran, in order. */
export interface MigrationReport {
  readonly applied: string[]
}

/**
 * Runs the pending migrations of one owner in one transaction. Safe to call at every start and from several
 * processes at once. Each owner has a separate list, so a plugin can be added and removed.
 * @throws the error of a failed migration, after rolling back all of them
 */
export async function migrate<Tables>(
  db: Kysely<Tables>,
  dialect: MigrationDialect,
  { owner, migrations }: { owner: string; migrations: Migrations } = CORE,
): Promise<MigrationReport> {
  const migrator = new Migrator({
    db,
    provider: {
      async getMigrations() {
        const run = (up: Migrations[string]): Migration => ({ up: (db) => up(db.schema, dialect, db) })
        return Object.fromEntries(Object.entries(migrations).map(([name, up]) => [name, run(up)]))
      },
    },
    migrationTableName: `${owner}_migration`,
    migrationLockTableName: `${owner}_migration_lock`,
  })
  const known = await migrator.getMigrations()
  // Without pending migrations nothing is written, so a start doesn't wait for another process that writes.
  const isUpToDate = known.every(({ executedAt }) => executedAt !== undefined)
  const { error, results = [] } = await migrator.migrateToLatest({ disableTransactions: isUpToDate })
  if (error !== undefined) throw error
  return {
    applied: results.filter(({ status }) => status === 'Success').map(({ migrationName }) => migrationName),
  }
}

/** Creates the table of the rate limits, also for a store on another library's tables. */
export function createRateLimitTable(schema: SchemaModule): { execute(): Promise<void> } {
  return schema
    .createTable('rateLimit')
    .ifNotExists()
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('points', 'integer', (column) => column.notNull())
    .addColumn('expire', 'bigint')
}

const INDEXES = {
  session: ['expiresAt', 'userId'],
  account: ['userId'],
  audit: ['createdAt', 'userId', 'sessionId', 'actingSessionId', 'actorId'],
  serviceToken: ['expiresAt'],
  serviceCall: ['expiresAt'],
}

const CORE: { owner: string; migrations: Migrations } = {
  owner: 'sallyport',
  migrations: {
    async '0001_tables'(schema, { engine, timestamp, flag, no, yes }, db) {
      const table = (name: string) =>
        schema.createTable(name).addColumn('id', 'text', (column) => column.primaryKey())
      await table('user')
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
      await table('session')
        .addColumn('token', 'text', (column) => column.notNull().unique())
        .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
        .addColumn('ipAddress', 'text')
        .addColumn('userAgent', 'text')
        .addColumn('expiresAt', timestamp, (column) => column.notNull())
        .addColumn('lastAuthenticatedAt', timestamp, (column) => column.notNull())
        .addColumn('lastSeenAt', timestamp, (column) => column.notNull())
        .addColumn('remembered', flag, (column) => column.notNull().defaultTo(yes))
        .addColumn('previousToken', 'text')
        .addColumn('rotatedAt', timestamp)
        .addColumn('tokenFamily', 'text')
        .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
        .addColumn('provedVersion', 'integer', (column) => column.notNull().defaultTo(1))
        .addColumn('issuer', 'text')
        .addColumn('createdAt', timestamp, (column) => column.notNull())
        .addColumn('updatedAt', timestamp, (column) => column.notNull())
        .execute()
      await table('account')
        .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
        .addColumn('accountId', 'text', (column) => column.notNull())
        .addColumn('providerId', 'text', (column) => column.notNull())
        .addColumn('password', 'text')
        .addColumn('createdAt', timestamp, (column) => column.notNull())
        .addColumn('updatedAt', timestamp, (column) => column.notNull())
        .addUniqueConstraint('account_provider', ['providerId', 'accountId'])
        .execute()
      await table('audit')
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('userId', 'text')
        .addColumn('sessionId', 'text')
        .addColumn('actorId', 'text')
        .addColumn('address', 'text')
        .addColumn('userAgent', 'text')
        .addColumn('actingSessionId', 'text')
        .addColumn('detail', 'text', (column) => column.notNull())
        .addColumn('createdAt', timestamp, (column) => column.notNull())
        .execute()
      await createRateLimitTable(schema).execute()
      await table('serviceToken')
        .addColumn('expiresAt', timestamp, (column) => column.notNull())
        .execute()
      await table('serviceCall')
        .addColumn('fn', 'text', (column) => column.notNull())
        .addColumn('body', 'text', (column) => column.notNull())
        .addColumn('userId', 'text')
        .addColumn('result', 'text')
        .addColumn('expiresAt', timestamp, (column) => column.notNull())
        .execute()
      for (const [table, columns] of Object.entries(INDEXES)) {
        for (const column of columns)
          await schema.createIndex(`${table}_${column}`).on(table).column(column).execute()
      }
      for (const statement of revocationLogStatements(engine)) await sql.raw(statement).execute(db)
    },
  },
}
