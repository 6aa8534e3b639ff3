import type { EventListener, EventOrigin } from '../events/event.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import type { AddedColumns } from '../session/added-columns.ts'
import type { SessionStore } from '../session/session-store.ts'
import type { AuthTransaction, ChangeEvent, RecordEvent } from './auth-transaction.ts'
import type { MigrationDialect } from './migrations.ts'
import type { AuthKysely } from './schema.ts'

/** A database that sessions can begin and end in: what `openSqlite` returns. */
export interface SessionDatabase {
  readonly db: AuthKysely
  readonly sessions: SessionStore
  readonly revocations: RevocationFeed
  readonly limits: RateLimitStore
  /** The columns besides ours that Step 2 reads here. */
  readonly columns: AddedColumns
  /** How migrations write their types here. */
  readonly types: MigrationDialect
  /** Hears of events after their commit. */
  readonly onEvent?: EventListener | undefined
  /** Where the changes come from that are made through this object; recorded with each of them. */
  readonly origin?: EventOrigin
  /** Run inside the transaction of a change; one that throws undoes it. */
  readonly hooks?: readonly ChangeHook[]
}

/** Takes part in a change, in its transaction. What it records, hooks are told of as well. */
export type ChangeHook = (event: ChangeEvent, trx: AuthTransaction, record: RecordEvent) => Promise<void>
