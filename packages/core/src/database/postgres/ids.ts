import type { Pool } from 'pg'
import { ConfigurationError } from '../../protocol/errors.ts'
import { type Names, quote } from '../mapping.ts'

type IdType = 'text' | 'uuid' | 'bigint'

export interface IdTypes {
  readonly session: IdType
  readonly user: IdType
}

const MAX_BIGINT = 2n ** 63n - 1n

/** Returns whether a column of this type can hold an id. Any other id would fail the whole batch. */
export function isIdOf(type: IdType, id: string): boolean {
  switch (type) {
    case 'text':
      return !id.includes('\0') && id.isWellFormed()
    case 'uuid':
      // The spelling of the database, which the revocation log uses too.
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
    case 'bigint':
      return /^(0|[1-9]\d{0,18})$/.test(id) && BigInt(id) <= MAX_BIGINT
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

/** Reads the types of the ids from the catalog. @throws ConfigurationError for any other type */
export async function readIdTypes(pool: Pool, { session, user }: Names): Promise<IdTypes> {
  async function typeOf(table: string, column: string): Promise<IdType> {
    const { rows } = await pool.query<{ type: string }>(
      `select format_type(atttypid, null) as type from pg_attribute
        where attrelid = to_regclass($1) and attname = $2 and not attisdropped`,
      [quote(table), column],
    )
    const [found] = rows
    if (found === undefined)
      throw new ConfigurationError(`mapping: ${table}.${column} not found. Check the names.`)
    const type = TYPES[found.type]
    if (type !== undefined) return type
    throw new ConfigurationError(
      `mapping: ${table}.${column} is ${found.type}. An id must be text, uuid, or an integer.`,
    )
  }
  const ofSession = await typeOf(session.table, session.columns.id)
  return { session: ofSession, user: await typeOf(user.table, user.columns.id) }
}
