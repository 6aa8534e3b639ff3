import type { HydrationState } from '@sallyport/core/protocol'
import type { AuthState } from './auth-state.ts'
import { type Held, hold } from './receipt.ts'

const unasked = { status: 'loading', epoch: 0, userId: null, sessionId: null, error: null } as const

/** The first state: what the server rendered, else `loading`. */
export function hydrateState(rendered: HydrationState | undefined): AuthState {
  const { expiresIn: _seconds, ...state } = { ...unasked, expiresIn: 0, ...rendered }
  return state
}

/** The JWT that the page came with, which is as old as the first byte of the page; null where nobody is signed in. */
export function hydrateReceipt(rendered: HydrationState | undefined): Held | null {
  if (rendered?.status !== 'authenticated') return null
  const [page] = performance.getEntriesByType?.('navigation') ?? []
  const age = page && 'responseStart' in page ? performance.now() - Number(page.responseStart) : 0
  return hold({ ...rendered, seq: Date.now() - age })
}
