import { ConfigurationError } from '../protocol/errors.ts'
import type { Row } from '../session/session-row.ts'
import { type Engine, namesOf, type StoreMapping } from './mapping.ts'
import { sessionSql } from './session-sql.ts'

const MIN_DATE = Date.UTC(2000, 0)
/** The latest date that apps store for "never". */
const MAX_DATE = Date.UTC(10_000, 0)

/**
 * Reads one row of the mapped tables and checks its dates: a wrong encoding makes every session look expired,
 * or no session. Warns about a mapping without a version column.
 * @throws ConfigurationError if the row can't be read, or a date is out of range
 */
export async function checkMapping(
  engine: Engine,
  mapping: StoreMapping,
  readRow: (statement: string) => Promise<Row | undefined>,
): Promise<void> {
  const { dates } = namesOf(engine, mapping)
  const { session, user } = sessionSql(engine, mapping)
  const statement = `select s.${session.id}, u.${user.id}, ${session.columns}, ${user.columns}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId} limit 1`
  const row = await readRow(statement).catch((cause: Error) => {
    // SQLite compares values of any type, so there an error never comes from the dates.
    const setting = engine === 'postgres' ? `the names and mapping.dates (${dates})` : 'the names'
    throw new ConfigurationError(`mapping: ${cause.message}. Check ${setting}.`, { cause })
  })
  const { expiresAt, lastAuthenticatedAt, banExpires } = row ?? {}
  for (const [name, value] of Object.entries({ expiresAt, lastAuthenticatedAt, banExpires })) {
    // The row or the column is missing, so its encoding can't be checked.
    if (value === undefined || (value === null && name !== 'expiresAt')) continue
    if (value === Number.POSITIVE_INFINITY && name === 'banExpires') continue
    const isText = typeof value === 'string'
    const moment = isText || typeof value === 'number' ? new Date(value).getTime() : Number.NaN
    if (isText === (dates === 'iso') && moment >= MIN_DATE && moment < MAX_DATE) continue
    throw new ConfigurationError(
      `mapping: ${name} is read as ${String(value)}, not as ${dates}. Set mapping.dates.`,
    )
  }
  if (typeof mapping.session?.columns?.version === 'string') return
  console.warn(
    'sallyport: mapping.session.columns.version is not set, so a copied token stays valid until it expires, even after the user proves who they are again. Map an integer column that your app increases then.',
  )
}
