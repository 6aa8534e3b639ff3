import type { DateEncoding } from '@sallyport/core/postgres'
import { type DatabaseKind, databaseKinds } from './database-kinds.ts'
import { literal } from './stored-sessions.ts'

/** A way in which the tables of another library may store dates. */
export interface Encoding {
  readonly name: string
  readonly kind: DatabaseKind
  readonly dates: DateEncoding
  /** The type of a column. */
  readonly type: string
  /** Returns a time as SQL. */
  write(moment: Date): string
}

/**
 * It is already tomorrow in Kiritimati, and still yesterday in Los Angeles, which reveals a mixed-up time
 * zone.
 */
const SETTINGS = { timezone: 'Pacific/Kiritimati' }

/** Returns every way of each database, for `describe.each`. */
export async function encodings(): Promise<Encoding[]> {
  const [sqlite, postgres] = await databaseKinds(SETTINGS, { poolSize: 2 })
  const iso = (moment: Date) => literal(moment.toISOString())
  const seconds = (moment: Date) => String(Math.floor(moment.getTime() / 1000))
  const milliseconds = (moment: Date) => String(moment.getTime())
  const withoutZone = (moment: Date) => `timestamp ${literal(moment.toISOString().slice(0, -1))}`
  const of = (kind: DatabaseKind, dates: DateEncoding, type: string, write: (moment: Date) => string) => ({
    name: `${kind.name} with dates as ${dates} in ${type}`,
    kind,
    dates,
    type,
    write,
  })
  return [
    of(sqlite, 'iso', 'text', iso),
    of(sqlite, 'seconds', 'integer', seconds),
    of(sqlite, 'milliseconds', 'integer', milliseconds),
    of(postgres, 'timestamp', 'timestamptz', iso),
    of(postgres, 'timestamp', 'timestamp', withoutZone),
    of(postgres, 'iso', 'text', iso),
    of(postgres, 'seconds', 'bigint', seconds),
    of(postgres, 'seconds', 'integer', seconds),
    of(postgres, 'seconds', 'numeric', seconds),
    of(postgres, 'milliseconds', 'bigint', milliseconds),
    of(postgres, 'milliseconds', 'double precision', milliseconds),
  ]
}
