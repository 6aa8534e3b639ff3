import { ConfigurationError } from '@sallyport/core'
import type { SqliteStoreOptions, StoreMapping } from '@sallyport/core/sqlite'
import { getAuthTables } from 'better-auth/db'
import { defaultRoleOf } from './access.ts'
import type { BetterAuthContext } from './instance.ts'
import { memberOf } from './member.ts'
import { type TableNames, tableNames } from './table-names.ts'

export type AddedColumns = NonNullable<SqliteStoreOptions['columns']>
type SessionColumns = AddedColumns['session']
type ColumnShape = AddedColumns['user'][string]

type Tables = ReturnType<typeof getAuthTables>
type Fields = Tables[string]['fields']

/** Members of a session that decide about it. A field of the app with such a name isn't ours. */
const OWN_NAMES = ['issuer', 'rotatedAt', 'version', 'lastAuthenticatedAt', 'user', 'ban']

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

/**
 * Describes Better Auth's tables for a store.
 * @throws ConfigurationError if they can't be read that way
 */
export function describeTables(
  context: BetterAuthContext,
  { db, issuer }: { db: unknown; issuer: string },
): Required<Pick<SqliteStoreOptions, 'mapping' | 'columns'>> {
  const tables = getAuthTables(context.options)
  const names = namesIn(context, tables, db)
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

/** Translates the names in Better Auth's options to those in the database. */
function namesIn(context: BetterAuthContext, tables: Tables, db: unknown): TableNames {
  const suffix = memberOf(context.adapter.options, 'adapterConfig', 'usePlural') === true ? 's' : ''
  const names = tableNames(context, db)
  const modelOf = (model: string) => `${tables[model]?.modelName ?? model}${suffix}`
  const fieldOf = (model: string, field: string) => tables[model]?.fields[field]?.fieldName ?? field
  return {
    table: (model) => names.table(modelOf(model)),
    column: (model, field) => names.column(modelOf(model), fieldOf(model, field)),
    dates: (model, field) => names.dates(modelOf(model), fieldOf(model, field)),
  }
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
