import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../database/session-database.ts'
import { validateLocked } from '../lifecycle/locked-sessions.ts'
import { proofError } from '../session/proof-error.ts'
import type { AuthorizedContext, SecondFactor } from './endpoint.ts'

/**
 * Rejects a session that hasn't recently proved a second factor, if its user needs one to sign in. Otherwise,
 * a thief who knows the password could add or remove a factor, and so replace it.
 * @param trx the change, which has locked the user. Its factors may have changed since the call began.
 * @throws AuthError `FACTOR_REQUIRED` or `SESSION_NOT_FRESH`, with what is required
 */
export async function requireSecondFactor(context: AuthorizedContext, trx?: AuthTransaction): Promise<void> {
  const { config, database, identity, secondFactors } = context
  if (!(await hasSecondFactor(identity.userId, trx ?? database.db, secondFactors))) return
  const locked = trx && { trx, locks: database.locks, now: config.now }
  const session = locked === undefined ? context.session : await validateLocked(identity, locked)
  const rule = { factor: 'any-second', maxAgeSeconds: config.freshForSeconds } as const
  const error = proofError(session, rule, config)
  if (error !== null) throw error
}

/** Returns whether a sign-in of the user needs a second factor. */
export async function hasSecondFactor(
  userId: string,
  db: AuthKysely,
  factors: readonly SecondFactor[],
): Promise<boolean> {
  for (const { methodsOf, isRequired } of factors)
    if (isRequired !== false && (await methodsOf(userId, db)).length > 0) return true
  return false
}
