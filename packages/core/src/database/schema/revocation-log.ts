import { type InternalNames, internalTable } from './internal-tables.ts'

/** How long an entry is kept: longer than the lease for which a stream continues without a database. */
export const LOG_RETENTION_MS: number = 60 * 60 * 1000

/**
 * Returns statements that create the log of PostgreSQL. Each can run again. Numbers start at the current
 * time, since nodes remember the numbers of a log that was dropped.
 *
 * Triggers append in the transaction of a change, also when rows are changed by hand:
 * - a session is deleted before it expires, its `expiresAt` decreases, or its `userId` or `version` changes
 * - `banned`, `banExpires`, or `role` of a user changes, or a user is deleted
 * - a table is truncated
 *
 * Renewals and pruning don't append.
 */
export function revocationLogStatements(internal: InternalNames): string[] {
  const log = internalTable(internal, 'revocation_log')
  return [
    `create table if not exists ${log} (
      seq bigint generated always as identity (start with ${Date.now()}) primary key,
      "sessionId" text,
      "userId" text,
      at timestamptz not null default now(),
      xid xid8 not null default pg_current_xact_id()
    )`,
    `create index if not exists sallyport_revocation_log_xid on ${log} (xid, seq)`,
    `create index if not exists sallyport_revocation_log_at on ${log} (at)`,
  ]
}
