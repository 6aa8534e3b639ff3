import { ConfigurationError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import type { Row } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import type { MappingOptions, OpenedReader } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import type { D1Client } from './connections/client.ts'
import { remoteLookups } from './find-remote-session.ts'
import { leaseFeed } from './lease-feed.ts'

/** Opens a Cloudflare D1 database, which has no interactive transactions and is only read. */
export async function openD1Store(client: D1Client, options: MappingOptions): Promise<OpenedReader> {
  if ('getBookmark' in client)
    throw new ConfigurationError(
      'A session of D1 may read an old copy of the database. Pass the database, such as env.DB.',
    )
  const { mapping, columns = NO_COLUMNS } = options
  const bind = (sql: string, parameters: readonly unknown[]) => client.prepare(sql).bind(...parameters)
  const lookUp = async (sql: string, parameters: string[]) => (await bind(sql, parameters).raw())[0]
  const readRow = async (sql: string) => (await bind(sql, []).all()).results[0] as Row | undefined
  await checkMapping('sqlite', options, readRow)
  return {
    sessions: remoteLookups(lookUp, sessionSql('sqlite', mapping, columns), columns),
    revocations: leaseFeed('Cloudflare D1'),
    limits: memoryLimits(),
    issuer: mapping.issuer,
    async close() {},
  }
}
