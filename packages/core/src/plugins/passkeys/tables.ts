import type { ColumnType, Kysely } from 'kysely'
import type {
  AuthKysely,
  AuthTables,
  Flag,
  NullableTimestamp,
  Timestamp,
} from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'

export type PasskeyTables = {
  passkeyCredential: {
    /** The credential id, in base64url. */
    id: string
    userId: string
    /** The user's name for it. */
    name: string
    /** COSE, in base64url. */
    publicKey: string
    /** The signature counter, up to 2^32 - 1. PostgreSQL returns text. */
    counter: ColumnType<number | string, number, number>
    /** JSON: how browsers reach the authenticator, such as `internal`. */
    transports: string
    /** Whether it can be synchronized between devices. Never changes (WebAuthn level 3, section 6.1.3). */
    synced: Flag
    lastUsedAt: NullableTimestamp
    createdAt: Timestamp
  }
  /** Unused challenges. `id` is a hash of the challenge and all it is bound to. */
  passkeyChallenge: { id: string; expiresAt: Timestamp }
}

export function withOwnTables(db: Kysely<AuthTables>): Kysely<AuthTables & PasskeyTables> {
  return db.$extendTables<PasskeyTables>()
}

/** A passkey, as verification needs it. */
export interface Passkey {
  readonly id: string
  readonly userId: string
  readonly publicKey: string
  readonly synced: boolean
}

export async function findPasskey(db: AuthKysely, id: string): Promise<Passkey | null> {
  const columns = ['id', 'userId', 'publicKey', 'synced'] as const
  const query = withOwnTables(db).selectFrom('passkeyCredential').select(columns).where('id', '=', id)
  const found = await query.executeTakeFirst()
  return found === undefined ? null : { ...found, synced: Boolean(found.synced) }
}

export async function hasPasskey(db: AuthKysely, userId: string): Promise<boolean> {
  const query = withOwnTables(db).selectFrom('passkeyCredential').select('id').where('userId', '=', userId)
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** The names differ from `passkey`, a table that Better Auth has. */
export const migrations: Migrations = {
  async '0001_passkeys'(schema, { timestamp, flag }) {
    await schema
      .createTable('passkeyCredential')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('publicKey', 'text', (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('transports', 'text', (column) => column.notNull())
      .addColumn('synced', flag, (column) => column.notNull())
      .addColumn('lastUsedAt', timestamp)
      .addColumn('createdAt', timestamp, (column) => column.notNull())
      .execute()
    const owner = schema.createIndex('passkeyCredential_userId').on('passkeyCredential')
    await owner.column('userId').execute()
    await schema
      .createTable('passkeyChallenge')
      .addColumn('id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .execute()
    const expiry = schema.createIndex('passkeyChallenge_expiresAt').on('passkeyChallenge')
    await expiry.column('expiresAt').execute()
  },
}
