import type { AuthConfig, AuthError, Session } from '@sallyport/core'
import type { Factor } from '@sallyport/core/internal/protocol'
import { proofError, requireKnownFactor } from '@sallyport/core/internal/server'

/** A second factor, null for none, or a function that decides for each session. */
export type RequiredFactor<Own = Session> = Factor | null | ((session: Own) => Factor | null)

interface Rule {
  readonly factor: RequiredFactor
  /** `Infinity` accepts a proof of any age. */
  readonly maxAgeSeconds: number
  readonly config: AuthConfig
}

/** Returns the error of a session that lacks a proof; null if it has it. */
export function errorOfProof(
  session: Session,
  { factor: required, maxAgeSeconds, config }: Rule,
): AuthError | null {
  const factor = typeof required === 'function' ? required(session) : required
  requireKnownFactor('factor', factor)
  return proofError(session, { factor, maxAgeSeconds }, config)
}
