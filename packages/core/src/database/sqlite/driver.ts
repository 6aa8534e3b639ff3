import type { Dialect } from 'kysely'
import type { RateLimitStore } from '../../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../../revocations/feed.ts'
import type { AddedColumns } from '../../session/added-columns.ts'
import type { SessionReader } from '../../session/session.ts'
import type { Row } from '../../session/session-row.ts'
import type { SessionSql } from '../find-session-sql.ts'
import type { Problem } from '../schema/inspect.ts'

/** Runs a statement and returns its rows. */
export type RunStatement = (sql: string, parameters?: readonly unknown[]) => Promise<Row[]>

/** A feed that runs until it's closed. */
export type OpenFeed = RevocationFeed & { close(): void }

/** What a store needs of an open database, with any SQLite library. */
export interface SqliteDriver {
  /** Kysely's dialect for the connection that writes. */
  readonly dialect: Dialect
  readonly limits: Required<RateLimitStore>
  /** Reads rows on the connection that Step 2 uses. */
  readonly read: RunStatement
  /** Step 2 on any tables. */
  lookups(sql: SessionSql, columns: AddedColumns): SessionReader
  /** @param passMs the time between passes of a feed that polls */
  feed(sql: SessionSql, passMs: number): OpenFeed
  /** Whether reads may come from a copy, which must be checked for our own writes. */
  readonly isReplicable: boolean
  /** Returns what is wrong with how this process uses the file. */
  problems(): Problem[]
  /** Returns whether the file was removed or replaced since it was opened. Absent without a file. */
  readonly isReplaced?: (() => boolean) | undefined
  /** Closes our connections, and never a client that the app gave us. */
  close(): void
}
