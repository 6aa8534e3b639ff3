import type { AuthConfig } from '../config.ts'
import type { AuthError } from '../protocol/errors.ts'
import { missingProof, type ProofRule } from './authentication-methods.ts'
import { denial } from './report-denial.ts'
import type { Session } from './session.ts'

/** Returns the error of a session that doesn't satisfy a rule, with what would; null if it does. */
export function proofError(session: Session, rule: ProofRule, config: AuthConfig): AuthError | null {
  const reason = missingProof(session, rule, config.now())
  if (reason === null) return null
  const { factor } = rule
  const maxAgeSeconds = Number.isFinite(rule.maxAgeSeconds) ? rule.maxAgeSeconds : null
  return denial(reason, session.id, { config, required: { factor, maxAgeSeconds } })
}
