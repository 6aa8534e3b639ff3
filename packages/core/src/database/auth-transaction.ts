import type { Transaction } from 'kysely'
import type { AuthEvent } from '../events/event.ts'
import type { AuthTables } from './schema.ts'

/** A transaction on our tables. */
export type AuthTransaction = Transaction<AuthTables>

/** An event that tells of a change; the change and its row in `audit` are committed together. */
export type ChangeEvent = Exclude<AuthEvent, { type: 'decision.denied' }>

/** Notes an event of the transaction under way. */
export type RecordEvent = (event: ChangeEvent) => void
