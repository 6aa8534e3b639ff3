import type { HydrationState } from '@sallyport/core/internal/protocol'
import { type AuthClientError, clientError } from './auth-client-error.ts'
import { type Held, hold, type Receipt } from './receipt.ts'

/**
 * - `loading`: the client waits for its first response
 * - `signing-out`: the user signed out and the server hasn't confirmed it yet
 * - `unknown`: the first attempt failed. The client retries, except after a ban or a cookie conflict
 */
export type AuthStatus = 'loading' | 'authenticated' | 'unauthenticated' | 'signing-out' | 'unknown'

/** The state of the user in this client. Immutable: each change creates a new object. */
export interface AuthState {
  readonly status: AuthStatus
  /** The number of changes of the user. Older data may belong to another user. */
  readonly userChanges: number
  /** Null if no user is signed in, or the client doesn't know. */
  readonly userId: string | null
  readonly sessionId: string | null
  /** Why the latest attempt failed. A user stays signed in, except after `SECRET_SUPERSEDED`. */
  readonly error: AuthClientError | null
}

/** The state of a client; `held` is its newest JWT. */
export interface SessionState {
  readonly shown: AuthState
  readonly held: Held | null
  /** That of the newest JWT; 0 without one. */
  readonly seq: number
  /** That of the first JWT since the latest sign-in or confirmation; 0 if that is unknown. */
  readonly minSeq: number
  /** Failures in a row to refresh or to sign out. */
  readonly failures: number
  /** Counts sessions, sign-outs, and returns from the history. Drop responses to requests from before. */
  readonly epoch: number
  /** The latest session that has ended. */
  readonly ended: string | null
  /** After a return from the history, or a time without listeners, the cookies may belong to another user. */
  readonly isStale: boolean
}

export type SessionEvent =
  /** A JWT arrived, from the server or from another tab. */
  | { readonly type: 'received'; readonly receipt: Receipt }
  /** With an error or null, the session goes on, but not with the JWTs so far. */
  | { readonly type: 'ended'; readonly error?: AuthClientError | null | undefined }
  /** `final` if a sign-out isn't retried. */
  | { readonly type: 'failed'; readonly error: AuthClientError; readonly final?: boolean }
  | { readonly type: 'signing-out' }
  | { readonly type: 'stale' }

type Rendered = Partial<Pick<AuthState, 'status' | 'userId' | 'sessionId'>> & {
  readonly reason?: 'ACCOUNT_BANNED'
}

interface PageTiming extends PerformanceNavigationTiming {
  /**
   * Empty if the page came over the network for this visit. Firefox and Safari lack it. Their `type` is
   * `back_forward` if the page is from the history or a restored tab, and so maybe from the cache.
   */
  readonly deliveryType?: string
}

/** Returns the first state: the one that the server rendered, or `loading`. */
export function hydrate(rendered: HydrationState | undefined): SessionState {
  const { status = 'loading', userId = null, sessionId = null, reason }: Rendered = rendered ?? {}
  const page = performance.getEntriesByType?.('navigation')[0] as PageTiming | undefined
  // The JWT that the page came with is as old as the first byte of the page. Without one, this must not read
  // the clock: Next.js rejects that in a static page.
  const held =
    rendered?.status === 'authenticated'
      ? hold({ ...rendered, seq: Date.now() - (page ? performance.now() - page.responseStart : 0) })
      : null
  return {
    shown: {
      status,
      userChanges: 0,
      userId,
      sessionId,
      error: reason ? clientError(reason) : null,
    },
    held,
    seq: held?.seq ?? 0,
    minSeq: 0,
    epoch: 0,
    failures: 0,
    ended: null,
    // The browser may have had the page before this visit, and before a change of the user.
    isStale: Boolean(rendered && page && (page.deliveryType ?? /back/.test(page.type))),
  }
}

/** Returns the state after an event, or the same object if the event is outdated. See `docs/clients.md`. */
export function transition(state: SessionState, event: SessionEvent): SessionState {
  const { shown } = state
  const { status, sessionId } = shown
  const show = (change: Partial<AuthState>) => ({ ...state, shown: { ...shown, ...change } })
  switch (event.type) {
    case 'received': {
      const { receipt } = event
      // Session ids aren't used again.
      if (receipt.sessionId === state.ended || receipt.seq <= state.seq) return state
      const { seq, isNew } = receipt
      const next = { ...state, held: hold(receipt), seq, minSeq: isNew ? seq : state.minSeq }
      // New credentials for the session don't cancel its sign-out and its next attempt.
      return status === 'signing-out' && receipt.sessionId === sessionId ? next : decide(next)
    }
    case 'ended': {
      const { error } = event
      const isOver = error === undefined && { seq: 0, ended: sessionId ?? state.ended }
      return decide({ ...state, held: null, minSeq: 0, ...isOver }, error)
    }
    case 'failed': {
      const { error, final } = event
      const isOpen = status === 'loading' || (final && status === 'signing-out')
      const decided = sessionId ? 'authenticated' : 'unknown'
      return {
        ...show({ status: isOpen ? decided : status, error }),
        // In a loop, the token endpoint works: the next rejected call may use it again.
        failures: state.failures + Number(error.code !== 'REFRESH_LOOP'),
      }
    }
    case 'signing-out':
      return { ...show({ status: event.type, error: null }), failures: 0, epoch: state.epoch + 1 }
    case 'stale':
      // A sign-out continues.
      return { ...state, isStale: true, epoch: state.epoch + Number(status !== 'signing-out') }
  }
}

type Received = Partial<Pick<AuthState, 'userId' | 'sessionId'> & Pick<Receipt, 'isNew'>>

/** Returns the state once the server has said whether a user is signed in. */
function decide(state: SessionState, error: AuthClientError | null = null): SessionState {
  const { status: before, userChanges, sessionId: former } = state.shown
  const { userId = null, sessionId = null, isNew }: Received = state.held ?? {}
  const status = sessionId ? 'authenticated' : 'unauthenticated'
  const isOther = sessionId !== former
  // The first response isn't a change, unless the server may have responded to calls of another user before.
  const isChange = (isOther || status !== before) && (isNew || before !== 'loading')
  return {
    ...state,
    failures: 0,
    isStale: false,
    epoch: state.epoch + Number(isOther),
    shown: { status, userChanges: userChanges + Number(isChange), userId, sessionId, error },
  }
}
