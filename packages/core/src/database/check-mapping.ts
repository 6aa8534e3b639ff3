import { ConfigurationError } from '../protocol/errors.ts'
import { type AddedColumns, NO_COLUMNS } from '../session/added-columns.ts'
import { MAX_DATE, MIN_DATE, readDate } from '../session/read-date.ts'
import { type Row, SESSION_COLUMNS, USER_COLUMNS } from '../session/session-row.ts'
import type { MappingOptions } from './database.ts'
import { sessionSql } from './find-session-sql.ts'
import { type Engine, namesOf, type StoreMapping } from './schema/mapping.ts'

/**
 * Reads one row of the mapped tables and checks its values. With a wrong encoding of dates, every session
 * looks expired, or none does. With a role that isn't text, every call is 503, and with ids that are blobs,
 * 401. Warns about a mapping without a version column.
 * @throws ConfigurationError if the row can't be read or found by its ids, a date is out of range, or a value
 * has another type
 */
export async function checkMapping(
  engine: Engine,
  { mapping, columns = NO_COLUMNS }: MappingOptions,
  readRow: (statement: string) => Promise<Row | undefined>,
): Promise<void> {
  requireKnownColumns(mapping, columns)
  const { dates } = namesOf(engine, mapping)
  // Drizzle calls numbers in SQLite so.
  if (engine === 'sqlite' && dates.startsWith('timestamp'))
    throw new ConfigurationError(
      `mapping: SQLite has no type ${dates}. Set mapping.dates to iso, seconds, or milliseconds.`,
    )
  const { session, user } = sessionSql(engine, mapping, columns)
  const ids = [`s.${session.id}`, `s.${session.userId}`, `u.${user.id}`]
  // Lookups compare them with text. The plus removes the type of the cast, which a parameter doesn't have.
  const hasIds = ids.map((id) => `${id} = ${engine === 'sqlite' ? `+cast(${id} as text)` : id}`).join(' and ')
  const statement = `select ${hasIds} as "hasIds", ${session.columns}, ${user.columns}${session.added}${user.added}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId} limit 1`
  const row = await readRow(statement).catch((cause: Error) => {
    // SQLite compares values of any type, so there an error never comes from the dates.
    const setting = engine === 'postgres' ? `the names and mapping.dates (${dates})` : 'the names'
    throw new ConfigurationError(`mapping: ${cause.message}. Check ${setting}.`, { cause })
  })
  if (row?.hasIds === 0)
    throw new ConfigurationError(
      "mapping: a session can't be found by the text of its ids. Store session.id, session.userId, and user.id as text, or in columns of integers, but not as blobs.",
    )
  const { expiresAt, lastAuthenticatedAt, banExpires, role = null, version = null } = row ?? {}
  if (role !== null && typeof role !== 'string')
    throw new ConfigurationError(`mapping: role is read as ${String(role)}. Map a column of text, or null.`)
  if (version !== null && !Number.isSafeInteger(version))
    throw new ConfigurationError(`mapping: version is read as ${String(version)}. Map a column of integers.`)
  for (const [name, value] of Object.entries({ expiresAt, lastAuthenticatedAt, banExpires })) {
    // The row or the column is missing, so its encoding can't be checked.
    if (value === undefined || (value === null && name !== 'expiresAt')) continue
    if (value === Number.POSITIVE_INFINITY && name === 'banExpires') continue
    const isText = typeof value === 'string'
    const moment = readDate(value).getTime()
    if (isText === (dates === 'iso') && moment >= MIN_DATE && moment < MAX_DATE) continue
    if (value === null)
      throw new ConfigurationError(
        "mapping: expiresAt is null. If such sessions have no end, set mapping.session.nullExpiresAt to 'endless'.",
      )
    throw new ConfigurationError(
      `mapping: ${name} is read as ${String(value)}, not as ${dates}. Set mapping.dates.`,
    )
  }
  // Only our own tokens have a version.
  if (mapping.issuer !== undefined || typeof mapping.session?.columns?.version === 'string') return
  console.warn(
    'sallyport: mapping.session.columns.version is not set, so a copied token stays valid until it expires, even after the user proves who they are again. Map an integer column that your app increases then.',
  )
}

/** A misspelled name would leave a column at its default. @throws ConfigurationError */
function requireKnownColumns(mapping: StoreMapping, columns: AddedColumns): void {
  const known = {
    session: new Set(['id', 'userId', ...SESSION_COLUMNS, ...Object.keys(columns.session)]),
    user: new Set(['id', ...USER_COLUMNS, ...Object.keys(columns.user)]),
  }
  for (const table of ['session', 'user'] as const) {
    const unknown = Object.keys(mapping[table]?.columns ?? {}).find((name) => !known[table].has(name))
    if (unknown === undefined) continue
    throw new ConfigurationError(
      `mapping: ${table}.columns.${unknown} is unknown. Check the name, or declare it with { columns }.`,
    )
  }
}
