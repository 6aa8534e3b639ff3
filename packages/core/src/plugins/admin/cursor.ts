import { toDate } from '../../database/schema.ts'
import { refuse } from '../../protocol/endpoint-error.ts'

/** The end of the year 9999. No row is later, and databases don't take every date that JavaScript has. */
const MAX_CREATED_AT = Date.UTC(10_000, 0)

/** Where a page ends. */
export interface Position {
  readonly createdAt: Date
  readonly id: string
}

/**
 * Reads the `cursor` of a query: `<createdAt>_<id>` of the last row of the page before.
 *
 * @throws EndpointError `INVALID_INPUT`
 */
export function parseCursor(cursor: string): Position {
  const underscore = cursor.indexOf('_')
  const createdAt = toDate(cursor.slice(0, underscore))
  const isWritable = createdAt.getTime() < MAX_CREATED_AT
  // PostgreSQL rejects a text with a NUL character.
  if (underscore === -1 || !isWritable || cursor.includes('\0'))
    throw refuse('INVALID_INPUT', { fields: ['cursor'] })
  return { createdAt, id: cursor.slice(underscore + 1) }
}
