import type { SqliteStoreOptions } from '@sallyport/core/sqlite'
import type { getAuthTables } from 'better-auth/db'

export type AddedColumns = NonNullable<SqliteStoreOptions['columns']>
type ColumnShape = AddedColumns['user'][string]

export type Tables = ReturnType<typeof getAuthTables>
type Fields = Tables[string]['fields']

/** Members of a session that decide about it. A field of the app with such a name isn't ours. */
const OWN_NAMES = ['issuer', 'rotatedAt', 'version', 'lastAuthenticatedAt', 'amr', 'user', 'ban']

/** Returns the columns of sessions and users that calls receive, except those that every store reads. */
export function returnedColumns(tables: Tables): AddedColumns {
  return {
    session: shapesOf(tables.session?.fields, new Set(['token', 'userId', 'expiresAt', ...OWN_NAMES])),
    user: shapesOf(tables.user?.fields, new Set(['name', 'email', 'role'])),
  }
}

function shapesOf(fields: Fields = {}, others: ReadonlySet<string>): Record<string, ColumnShape> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name, { returned }]) => returned !== false && name !== 'id' && !others.has(name))
      .map(([name, { type }]) => [name, { type: columnType(type) }]),
  )
}

function columnType(type: Fields[string]['type']): ColumnShape['type'] {
  switch (type) {
    case 'number':
    case 'date':
    case 'json':
      return type
    case 'boolean':
      return 'flag'
    case 'string[]':
    case 'number[]':
      return 'json'
    default:
      return 'text'
  }
}
