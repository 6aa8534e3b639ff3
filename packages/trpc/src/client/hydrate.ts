import type { HydrationState } from '@sallyport/core/internal/protocol'
import { ownError, signedOut } from './auth-client-error.ts'
import { type Held, hold } from './receipt.ts'
import type { SessionState } from './session-state.ts'

/** Returns the first state: the one that the server rendered, or `loading`. A ban is its error, as if the client had asked. */
export function hydrate(rendered: HydrationState | undefined): SessionState {
  const { status = 'loading', userId = null, sessionId = null, reason }: Rendered = rendered ?? {}
  const held = hydrateReceipt(rendered)
  const generation = held === null ? 0 : 1
  return {
    shown: { status, userChanges: 0, userId, sessionId, error: reason ? ownError(reason, 403) : null },
    held,
    generation,
    oldestGeneration: generation,
    failures: 0,
    revision: 0,
    ended: { sessionId: null, seq: 0, error: signedOut() },
    isRestored: false,
    pageError: null,
  }
}

/** The members of every {@link HydrationState}. */
interface Rendered {
  readonly status?: HydrationState['status'] | 'loading'
  readonly userId?: string | null
  readonly sessionId?: string | null
  readonly reason?: 'ACCOUNT_BANNED'
}

/** The JWT that the page came with, which is as old as the first byte of the page; null if no user is signed in. */
function hydrateReceipt(rendered: HydrationState | undefined): Held | null {
  if (rendered?.status !== 'authenticated') return null
  const [page] = performance.getEntriesByType?.('navigation') ?? []
  const { responseStart = performance.now() } = Object(page) as Partial<PerformanceResourceTiming>
  return hold({ ...rendered, seq: Date.now() - performance.now() + responseStart })
}
