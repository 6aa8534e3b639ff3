import { ConfigurationError } from '../protocol/errors.ts'
import type { LookupRow } from '../session/session-row.ts'
import { type Engine, namesOf, type StoreMapping } from './mapping.ts'

const EARLIEST = Date.UTC(2000, 0)
/** As late as anyone would write for never. */
const LATEST = Date.UTC(10_000, 0)

/**
 * Whether the dates of a row that was read make sense: a wrong encoding makes every session look expired, or none.
 *
 * @throws ConfigurationError
 */
export function checkMapping(row: LookupRow | undefined, engine: Engine, mapping: StoreMapping): void {
  const { dates } = namesOf(engine, mapping)
  const type = dates === 'iso' ? 'string' : 'number'
  const { expiresAt, lastAuthenticatedAt, banExpires } = row ?? {}
  for (const [name, value] of Object.entries({ expiresAt, lastAuthenticatedAt, banExpires })) {
    // What no column has, or no row.
    if (value === undefined || (value === null && name !== 'expiresAt')) continue
    if (value === Number.POSITIVE_INFINITY && name === 'banExpires') continue
    const moment = value === null ? Number.NaN : new Date(value).getTime()
    if (typeof value === type && moment >= EARLIEST && moment < LATEST) continue
    throw new ConfigurationError(
      `mapping: ${name} is read as ${String(value)}; are the dates really ${dates}?`,
    )
  }
}

/** Warns at startup that a mapping has no version column. */
export function warnWithoutVersion({ session }: StoreMapping): void {
  if (typeof session?.columns?.version === 'string') return
  console.warn(
    'sallyport: mapping.session.columns.version is not set, so a copied token stays valid until it expires, even after the user proves who they are again. Map an integer column that your app increases then.',
  )
}
