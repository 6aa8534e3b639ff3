import type { Kysely } from 'kysely'
import * as z from 'zod/mini'
import type { AuthTables, Flag } from '../../database/schema/kysely-tables.ts'
import type { Migrations } from '../../database/schema/migrations.ts'

type UserTable = AuthTables['user'] & { isAnonymous: Flag }

export type AnonymousKysely = Kysely<Omit<AuthTables, 'user'> & { user: UserTable }>

export function withOwnTables(db: Kysely<AuthTables>): AnonymousKysely {
  return db.$extendTables<{ user: UserTable }>()
}

export type AnonymousColumns = {
  readonly isAnonymous: {
    readonly type: 'flag'
    readonly default: false
    readonly schema: z.core.$ZodType<boolean>
  }
}

/** Better Auth's name. */
export const userColumns: AnonymousColumns = {
  isAnonymous: { type: 'flag', default: false, schema: z.boolean() },
}

export const migrations: Migrations = {
  // Pruning looks for the oldest.
  async '0001_is_anonymous'(schema) {
    const index = schema.createIndex('user_isAnonymous_createdAt').on('user')
    await index.columns(['isAnonymous', 'createdAt']).execute()
  },
}
