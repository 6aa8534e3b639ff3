import { ConfigurationError } from '../../protocol/errors.ts'
import type { IdType, IdTypes } from '../../session/id-types.ts'
import { type Names, quote } from '../schema/mapping.ts'
import type { Query } from './drivers/driver.ts'

const TYPES: Readonly<Record<string, IdType>> = {
  text: 'text',
  'character varying': 'text',
  uuid: 'uuid',
  smallint: 'bigint',
  integer: 'bigint',
  bigint: 'bigint',
}

/** Reads the types of the ids from the catalog. @throws ConfigurationError for any other type */
export async function readIdTypes(query: Query, { session, user }: Names): Promise<IdTypes> {
  async function typeOf(table: string, column: string): Promise<IdType> {
    const { rows } = await query<{ type: string }>({
      text: `select format_type(atttypid, null) as type from pg_attribute
        where attrelid = to_regclass($1) and attname = $2 and not attisdropped`,
      values: [quote(table), column],
    })
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
