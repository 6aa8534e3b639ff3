import type { Transaction } from 'kysely'
import type { AuthEvent } from '../events/event.ts'
import type { AuthTables } from './schema.ts'

/** A transaction on our tables. */
export type AuthTransaction = Transaction<AuthTables>

/** An event that is committed with its change, as a row in `audit`. */
export type ChangeEvent = Exclude<AuthEvent, { type: 'decision.denied' }>

/** Records an event in the current transaction. */
export type RecordEvent = (event: ChangeEvent) => void
