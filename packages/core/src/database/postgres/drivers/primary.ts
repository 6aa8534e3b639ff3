import { literal } from '../../schema/mapping.ts'
import type { Query } from './driver.ts'

/** `failureCode` recognizes it, also inside an error of the server. */
const IN_RECOVERY = 'The server is in recovery, so its data is stale. Connect to the primary.'

/** @throws an error with the code `DATABASE_READ_ONLY` unless the row says that the server is a primary */
export function checkPrimaryRow(row: { readonly standby: boolean } | undefined): void {
  if (row?.standby !== false) throw new Error(IN_RECOVERY)
}

/** @throws like {@link checkPrimaryRow} */
export async function checkPrimary(query: Query): Promise<void> {
  const { rows } = await query<{ standby: boolean }>({ text: 'select pg_is_in_recovery() as standby' })
  checkPrimaryRow(rows[0])
}

/**
 * Returns an expression for a text that is cast to an array or a number, which fails on a server in recovery.
 * The message appears as a malformed value.
 */
export function onPrimary(text: string): string {
  return `(case when pg_is_in_recovery() then ${literal(IN_RECOVERY)} else ${text} end)`
}
