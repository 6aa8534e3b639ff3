import type { HydrationState } from '@sallyport/core/protocol'
import { ownError } from './auth-client-error.ts'
import type { AuthState } from './auth-state.ts'
import { type Held, hold } from './receipt.ts'

const unasked = { status: 'loading', userChanges: 0, userId: null, sessionId: null, error: null } as const

/**
 * Returns the first state: the one that the server rendered, or `loading`. A ban is its error, as if the
 * client had asked.
 */
export function hydrateState(rendered: HydrationState | undefined): AuthState {
  const {
    expiresIn: _seconds,
    reason,
    ...state
  } = { ...unasked, expiresIn: 0, reason: undefined, ...rendered }
  return reason === undefined ? state : { ...state, error: ownError(reason, 403) }
}

/** The JWT that the page came with, which is as old as the first byte of the page; null where nobody is signed in. */
export function hydrateReceipt(rendered: HydrationState | undefined): Held | null {
  if (rendered?.status !== 'authenticated') return null
  const [page] = performance.getEntriesByType?.('navigation') ?? []
  const age = page && 'responseStart' in page ? performance.now() - Number(page.responseStart) : 0
  return hold({ ...rendered, seq: Date.now() - age })
}
