import { ConfigurationError } from '@sallyport/core'
import type { SqliteStoreOptions, StoreMapping } from '@sallyport/core/sqlite'
import { getAuthTables } from 'better-auth/db'
import { defaultRoleOf } from './access.ts'
import { findTableNames } from './find-table-names.ts'
import type { BetterAuthContext } from './instance.ts'
import { type AddedColumns, returnedColumns, type Tables } from './returned-columns.ts'
import type { TableNames } from './table-names.ts'

type SessionColumns = AddedColumns['session']

/**
 * Describes Better Auth's tables for a store.
 * @throws ConfigurationError if they can't be read that way
 */
export function describeTables(
  context: BetterAuthContext,
  { db, issuer }: { db: unknown; issuer: string },
): Required<Pick<SqliteStoreOptions, 'mapping' | 'columns'>> {
  const tables = getAuthTables(context.options)
  const names = findTableNames(context, { tables, db })
  requirePlain(tables)
  const columns = returnedColumns(tables)
  const { session, user } = tables
  if (session === undefined || user === undefined)
    throw new ConfigurationError('the sessions are only in secondaryStorage')
  const nullable = (name: string) => (name in user.fields ? names.column('user', name) : null)
  const named = (model: string, shapes: object) =>
    Object.fromEntries(Object.keys(shapes).map((name) => [name, names.column(model, name)]))
  const mapping: StoreMapping = {
    session: {
      table: names.table('session'),
      columns: {
        ...named('session', columns.session),
        id: names.column('session', 'id'),
        userId: names.column('session', 'userId'),
        expiresAt: names.column('session', 'expiresAt'),
        lastAuthenticatedAt: names.column('session', 'createdAt'),
        version: null,
      },
    },
    user: {
      table: names.table('user'),
      defaultRole: defaultRoleOf(context.options),
      columns: {
        ...named('user', columns.user),
        id: names.column('user', 'id'),
        name: names.column('user', 'name'),
        email: names.column('user', 'email'),
        role: nullable('role'),
        banned: nullable('banned'),
        banExpires: nullable('banExpires'),
      },
    },
    dates: datesOf(tables, names),
    issuer,
  }
  return { mapping, columns: { ...columns, session: { ...columns.session, ...memberRole(tables, names) } } }
}

/** Returns the column for the role in the active organization, which is in the table of members. */
function memberRole({ session, member }: Tables, names: TableNames): SessionColumns {
  if (member === undefined || session?.fields.activeOrganizationId === undefined) return {}
  const where = {
    [names.column('member', 'userId')]: 'userId',
    [names.column('member', 'organizationId')]: 'activeOrganizationId',
  }
  const from = { table: names.table('member'), column: names.column('member', 'role'), where }
  return { activeOrganizationRole: { type: 'text', from } }
}

/** Checks that no function of the app decodes a column. @throws ConfigurationError */
function requirePlain(tables: Tables): void {
  for (const model of ['session', 'user'])
    for (const [name, { transform, returned }] of Object.entries(tables[model]?.fields ?? {}))
      if (transform?.output !== undefined && returned !== false)
        throw new ConfigurationError(`${model}.${name} has a transform`)
}

/** Returns the format of all dates. @throws ConfigurationError if columns have different formats */
function datesOf(tables: Tables, names: TableNames): NonNullable<StoreMapping['dates']> {
  const columns = ['session', 'user'].flatMap((model) =>
    Object.entries(tables[model]?.fields ?? {})
      .filter(([, { type }]) => type === 'date')
      .map(([name]) => ({ name: `${model}.${name}`, encoding: names.dates(model, name) })),
  )
  const [first, ...others] = columns
  const other = others.find(({ encoding }) => encoding !== first?.encoding)
  if (first === undefined || other !== undefined)
    throw new ConfigurationError(`${first?.name} and ${other?.name} store dates in different ways`)
  return first.encoding
}
