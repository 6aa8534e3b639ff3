import { randomUUID } from 'node:crypto'
import { ConfigurationError } from '../../protocol/errors.ts'
import { internalTable } from '../internal-tables.ts'
import type { Query } from './driver.ts'

const KEPT_MS = 60_000

interface Paths {
  readonly schema: string
  readonly write: Query
  /** The connection of the lookups. */
  readonly lookup: Query
}

/**
 * Writes a row and reads it as lookups do. A proxy that reads from a replica would let revoked sessions in.
 * @throws ConfigurationError if the row isn't found
 */
export async function checkReadBack({ schema, write, lookup }: Paths): Promise<void> {
  const table = internalTable({ engine: 'postgres', schema }, 'rate_limit')
  const key = `startup/${randomUUID()}`
  const expire = Date.now() + KEPT_MS
  await write({
    text: `insert into ${table} (key, points, expire) values ($1, 0, $2)`,
    values: [key, expire],
  })
  const { rows } = await lookup({ text: `select key from ${table} where key = $1`, values: [key] })
  // It expires if this fails.
  void write({ text: `delete from ${table} where key = $1`, values: [key] }).catch(() => {})
  if (rows.length === 1) return
  throw new ConfigurationError(
    'Lookups did not find a row that was just written, so they read stale data, as on a replica. Connect to the primary, without a proxy that splits reads from writes.',
  )
}
