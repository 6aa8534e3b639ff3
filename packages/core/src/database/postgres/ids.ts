import type { Pool } from 'pg'
import { ConfigurationError } from '../../protocol/errors.ts'
import { type Names, quote } from '../mapping.ts'

/** How a database keeps an id. */
type IdType = 'text' | 'uuid' | 'bigint'

/** The types of the ids of sessions and users. */
export interface IdTypes {
  readonly session: IdType
  readonly user: IdType
}

const GREATEST = 2n ** 63n - 1n

/** Whether a column of this type could hold this id: one that it could not would fail the whole statement that it is in. */
export function isIdOf(type: IdType, id: string): boolean {
  switch (type) {
    case 'text':
      return !id.includes('\0') && id.isWellFormed()
    case 'uuid':
      // As the database writes it, which is how it names the session when it is revoked.
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
    case 'bigint':
      return /^(0|[1-9]\d{0,18})$/.test(id) && BigInt(id) <= GREATEST
  }
}

const TYPES: Readonly<Record<string, IdType>> = {
  text: 'text',
  'character varying': 'text',
  uuid: 'uuid',
  smallint: 'bigint',
  integer: 'bigint',
  bigint: 'bigint',
}

/**
 * Reads the types of the ids from the catalog.
 *
 * @throws ConfigurationError when a column is not there, or of a type that is no id
 */
export async function readIdTypes(pool: Pool, { session, user }: Names): Promise<IdTypes> {
  async function typeOf(table: string, column: string): Promise<IdType> {
    const { rows } = await pool.query<{ type: string }>(
      `select format_type(atttypid, null) as type from pg_attribute
        where attrelid = to_regclass($1) and attname = $2 and not attisdropped`,
      [quote(table), column],
    )
    const [found] = rows
    if (found === undefined)
      throw new ConfigurationError(`mapping: there is no table ${table}, or no column ${column} in it`)
    const type = TYPES[found.type]
    if (type !== undefined) return type
    throw new ConfigurationError(`mapping: ${table}.${column} is ${found.type}, which is no type of an id`)
  }
  return {
    session: await typeOf(session.table, session.columns.id),
    user: await typeOf(user.table, user.columns.id),
  }
}
