import type { AuthConfig } from '../config.ts'
import { emit } from '../events/emit.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import type { Reason } from '../protocol.ts'
import { hashSecret } from './secret.ts'

/** What is told of a refusal. */
interface Denial {
  readonly reason: Reason
  readonly step: 1 | 2
  /** Null where none was proved. */
  readonly sessionId: string | null
  readonly durationMs: number
}

/** Tells the app that a door refused. Of the session only a hash is told, so that the event may be logged anywhere. */
async function reportDenial({ sessionId, ...denial }: Denial, config: AuthConfig): Promise<void> {
  if (config.onEvent === undefined) return
  const at = config.now()
  const sessionIdHash = sessionId === null ? null : await hashSecret(sessionId)
  emit({ type: 'decision.denied', at, sessionIdHash, ...denial }, config.onEvent)
}

/** One of the two steps, of whose refusal the app is told. */
export function withReport<Decision>(
  decide: () => Promise<Decision>,
  { step, sessionId, config }: Pick<Denial, 'step' | 'sessionId'> & { config: AuthConfig },
): Promise<Decision> {
  const startedAt = performance.now()
  return decide().catch((error: unknown) => {
    if (isAuthError(error)) {
      const { reason } = error
      void reportDenial({ reason, step, sessionId, durationMs: performance.now() - startedAt }, config)
    }
    throw error
  })
}

/** The refusal of someone whom both doors let in, of which the app is told. */
export function denial(reason: Reason, sessionId: string, config: AuthConfig): AuthError {
  void reportDenial({ reason, step: 2, sessionId, durationMs: 0 }, config)
  return new AuthError(reason)
}
