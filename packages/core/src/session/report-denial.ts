import type { AuthConfig } from '../config.ts'
import { emit } from '../events/emit.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import type { Reason, RequiredProof } from '../protocol.ts'
import { hashText } from './hash-text.ts'

/** `sessionId` is null without an identity. */
type Denial = { reason: Reason; step: 1 | 2; sessionId: string | null; durationMs: number }

/** Emits `decision.denied` with a hash of the session id, so the event can be logged anywhere. */
async function reportDenial({ sessionId, ...denial }: Denial, config: AuthConfig): Promise<void> {
  config.telemetry?.count('denials', { reason: denial.reason, step: `step${denial.step}` })
  if (config.onEvent === undefined) return
  const at = config.now()
  const sessionIdHash = sessionId === null ? null : await hashText(sessionId)
  emit({ type: 'decision.denied', at, sessionIdHash, ...denial }, config.onEvent)
}

/** Returns the configuration for reads whose result no caller gets, so they report nothing. */
export function withoutReports(config: AuthConfig): AuthConfig {
  return { ...config, onEvent: undefined, telemetry: config.telemetry?.background }
}

/** Runs one of the two steps, and reports to the app when it rejects. */
export function withReport<Decision>(
  decide: () => Promise<Decision>,
  { step, sessionId, config }: Pick<Denial, 'step' | 'sessionId'> & { config: AuthConfig },
): Promise<Decision> {
  if (config.onEvent === undefined && config.telemetry === undefined) return decide()
  const startedAt = performance.now()
  return decide().catch((error: unknown) => {
    if (isAuthError(error)) {
      const { reason } = error
      void reportDenial({ reason, step, sessionId, durationMs: performance.now() - startedAt }, config)
    }
    throw error
  })
}

/** Runs a decision that needs no more reads, and reports to the app when it rejects. */
export function reportRejection<Decision>(
  decide: () => Decision,
  { step, sessionId, config }: Pick<Denial, 'step' | 'sessionId'> & { config: AuthConfig },
): Decision {
  try {
    return decide()
  } catch (error) {
    if (isAuthError(error))
      void reportDenial({ reason: error.reason, step, sessionId, durationMs: 0 }, config)
    throw error
  }
}

/** Creates the error for a caller who passed both steps but not a later check, and reports it. */
export function denial(
  reason: Reason,
  sessionId: string,
  { config, required }: { readonly config: AuthConfig; readonly required?: RequiredProof },
): AuthError {
  reportLater(reason, sessionId, config)
  return new AuthError(reason, { ...(required !== undefined && { required }) })
}

/** Reports a rejection of a read that authorizes no call, such as that of a stream. */
export function reportLater(reason: Reason, sessionId: string, config: AuthConfig): void {
  void reportDenial({ reason, step: 2, sessionId, durationMs: 0 }, config)
}
