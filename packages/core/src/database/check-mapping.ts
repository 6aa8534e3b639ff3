import { ConfigurationError } from '../protocol/errors.ts'
import type { LookupRow } from '../session/session-row.ts'
import { type Engine, namesOf, type StoreMapping } from './mapping.ts'
import { sessionSql } from './session-sql.ts'

const MIN_DATE = Date.UTC(2000, 0)
/** As late as anyone would write for "never". */
const MAX_DATE = Date.UTC(10_000, 0)

/**
 * Reads one row of the mapped tables and checks its dates: a wrong encoding makes every session look expired,
 * or none. Warns about a mapping without a version column.
 *
 * @throws ConfigurationError if the row can't be read, or a date makes no sense
 */
export async function checkMapping(
  engine: Engine,
  mapping: StoreMapping,
  readRow: (statement: string) => Promise<LookupRow | undefined>,
): Promise<void> {
  const { dates } = namesOf(engine, mapping)
  const { session, user } = sessionSql(engine, mapping)
  const statement = `select s.${session.id}, u.${user.id}, ${session.columns}, ${user.columns}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId} limit 1`
  const row = await readRow(statement).catch((cause: Error) => {
    // SQLite compares values of any type, so there an error never comes from the dates.
    const hint = engine === 'postgres' ? `; are the dates really ${dates}?` : ''
    throw new ConfigurationError(`mapping: ${cause.message}${hint}`, { cause })
  })
  const { expiresAt, lastAuthenticatedAt, banExpires } = row ?? {}
  for (const [name, value] of Object.entries({ expiresAt, lastAuthenticatedAt, banExpires })) {
    // Without a row, or without that column, there is nothing to check.
    if (value === undefined || (value === null && name !== 'expiresAt')) continue
    if (value === Number.POSITIVE_INFINITY && name === 'banExpires') continue
    const moment = value === null ? Number.NaN : new Date(value).getTime()
    const isOfType = typeof value === (dates === 'iso' ? 'string' : 'number')
    if (isOfType && moment >= MIN_DATE && moment < MAX_DATE) continue
    throw new ConfigurationError(
      `mapping: ${name} is read as ${String(value)}; are the dates really ${dates}?`,
    )
  }
  if (typeof mapping.session?.columns?.version === 'string') return
  console.warn(
    'sallyport: mapping.session.columns.version is not set, so a copied token stays valid until it expires, even after the user proves who they are again. Map an integer column that your app increases then.',
  )
}
