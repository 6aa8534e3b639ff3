import type { StoreMeter } from '../../events/telemetry.ts'
import { type AddedColumns, addedLists } from '../../session/added-columns.ts'
import type { SessionReader } from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import type { SessionSql } from '../find-session-sql.ts'
import { lookupStatement } from './find-session.ts'

/** Runs a statement and returns the values of its first row. */
type ReadValues = (sql: string, parameters: string[]) => Promise<readonly unknown[] | undefined>

/** Runs Step 2 with an asynchronous client, one statement for each lookup. */
export function remoteLookups(read: ReadValues, sql: SessionSql, columns: AddedColumns): SessionReader {
  const added = addedLists(columns)
  const statement = lookupStatement(sql)
  const meter: StoreMeter = { system: 'sqlite', telemetry: undefined }
  return {
    meter,
    async findSession(key) {
      if (!key.sessionId.isWellFormed() || !key.userId.isWellFormed()) return null
      meter.telemetry?.record('batch', 1, { system: meter.system })
      const values = await read(statement, [key.sessionId, key.userId])
      return values === undefined ? null : sessionOf(key, values as LookupValues, added)
    },
  }
}
