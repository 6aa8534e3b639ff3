import { missingProof } from '../session/authentication-methods.ts'
import { denial } from '../session/report-denial.ts'
import type { AuthorizedContext } from './endpoint.ts'

/**
 * Rejects a session that hasn't recently proved a second factor, if its user needs one to sign in. Otherwise,
 * a thief who knows the password could add or remove a factor, and so replace it.
 * @throws AuthError `FACTOR_REQUIRED` or `SESSION_NOT_FRESH`, with what is required
 */
export async function requireSecondFactor(context: AuthorizedContext): Promise<void> {
  const { config, database, identity, secondFactors, session } = context
  const needed = secondFactors.filter(({ isRequired }) => isRequired !== false)
  const own = await Promise.all(needed.map(({ methodsOf }) => methodsOf(identity.userId, database.db)))
  if (own.flat().length === 0) return
  const required = { factor: 'any-second', maxAgeSeconds: config.freshForSeconds } as const
  const reason = missingProof(session, required, config.now())
  if (reason !== null) throw denial(reason, session.id, { config, required })
}
