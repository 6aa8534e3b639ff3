import { AuthClientError, clientError } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { clientSession } from '../client/client-session.ts'
import { isOnServer } from '../client/on-server.ts'
import type { SessionEvent } from '../client/session-state.ts'
import { createSessionStore } from '../client/session-store.ts'
import type { LinkClient } from './link-client.ts'
import type { LinkSession } from './link-session.ts'

/** The part of Better Auth's client that links use. */
export interface BetterAuthClient {
  readonly $store: { readonly atoms: Readonly<Record<string, Atom>> }
}

interface Atom {
  get: () => SessionValue
  listen(listener: () => void): () => void
}

interface SessionValue {
  /** `customSession` may omit either, or some of their fields. */
  readonly data: {
    readonly session?: { readonly id?: string; readonly expiresAt?: Date | string }
    readonly user?: { readonly id?: string }
  } | null
  readonly error: { readonly status: number; readonly message?: string } | null
  readonly isPending: boolean
  readonly isRefetching: boolean
  refetch(params: { query: { disableCookieCache: boolean } }): Promise<void>
}

const DAY_MS = 24 * 60 * 60 * 1_000
const MINUTE_MS = 60 * 1_000
const MAX_WAIT_MS = 5_000
/** Longer than the time between a successful sign-in and Better Auth's signal. */
const MAX_SIGNAL_MS = 100
/** Longer than the time between the end of a session and the cookie of the one that replaces it. */
const MAX_CHANGE_MS = 1_000

/** All links of a client share its session. */
const followed = new WeakMap<object, LinkSession>()

/**
 * Connects the links to Better Auth's client. Its user changes with the id of the session: on a sign-in, a
 * sign-out, or an impersonation. Asks the server daily, which renews the session when due.
 *
 * @example links: [authLink(betterAuthSession(authClient)), httpBatchLink({ url: '/trpc', maxItems: 20 })]
 */
export function betterAuthSession(authClient: BetterAuthClient): LinkClient {
  const session = followed.get(authClient) ?? followSession(authClient)
  followed.set(authClient, session)
  return { [clientSession]: session }
}

/** Starts to follow the session with the first call. */
function followSession({ $store }: BetterAuthClient): LinkSession {
  const { session: atom, $sessionSignal: signal } = $store.atoms
  const server = isOnServer() && { headers: new Headers() }
  const { get, emit, subscribe } = createSessionStore(undefined, { server })
  let isFollowing = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let refetching: Promise<void> | undefined
  /** Set between a sign-in or sign-out and Better Auth's response to `getSession`. */
  let settled: Promise<void> | undefined
  let settle: (() => void) | undefined
  let settling: ReturnType<typeof setTimeout> | undefined
  let isSignalDue = false

  function follow(): void {
    if (isFollowing || server || !atom) return
    isFollowing = true
    atom.listen(apply)
    if (signal) followSignal(signal)
    apply()
  }

  /** When a sign-in or sign-out succeeds, Better Auth reads the signal, and changes it 10 ms later. */
  function followSignal(signal: Atom): void {
    const read = signal.get
    signal.get = () => {
      isSignalDue = true
      expectSession(MAX_SIGNAL_MS)
      return read()
    }
    signal.listen(() => {
      isSignalDue = false
      expectSession(MAX_WAIT_MS)
    })
  }

  function expectSession(waitMs: number): void {
    settled ??= new Promise((resolve) => {
      settle = resolve
    })
    clearTimeout(settling)
    settling = setTimeout(stopWaiting, waitMs)
  }

  function stopWaiting(): void {
    clearTimeout(settling)
    settle?.()
    settled = settle = undefined
    isSignalDue = false
  }

  function apply(): void {
    const value = atom?.get()
    if (!value || value.isPending || value.isRefetching) return
    emit(toEvent(value))
    // Before the signal, this may be the response to an earlier request.
    if (!isSignalDue) stopWaiting()
    clearTimeout(timer)
    const { data, error } = value
    if (error ? error.status !== 401 : data)
      timer = setTimeout(refetch, error ? backOff(get().failures) : delayUntilHalf(data?.session?.expiresAt))
  }

  function toEvent({ data, error }: SessionValue): SessionEvent {
    const { held, seq: latest } = get()
    if (error && error.status !== 401) {
      const { status, message = '' } = error
      return { type: 'failed', error: new AuthClientError(status, { code: 'UNKNOWN', message }) }
    }
    // A session without an id may begin again.
    if (!data) return { type: 'ended', error: null }
    const userId = data.user?.id ?? ''
    const sessionId = data.session?.id ?? userId
    const seq = Math.max(Date.now(), latest) + 1
    const isNew = held !== null && held.sessionId !== sessionId
    const receipt = { userId, sessionId, expiresIn: Number.POSITIVE_INFINITY, seq, isNew }
    return { type: 'received', receipt }
  }

  function refetch(): Promise<void> {
    follow()
    refetching ??= Promise.resolve(atom?.get().refetch({ query: { disableCookieCache: true } })).finally(
      () => {
        refetching = undefined
      },
    )
    return refetching
  }

  return {
    get,
    getState: () => get().shown,
    subscribe(listener) {
      follow()
      // The same listener may subscribe twice.
      return subscribe(() => listener())
    },
    server,
    tokens: undefined,
    send: () => Promise.reject(clientError('UNKNOWN')),
    start(call) {
      if (!settled) return call()
      let cancel: (() => void) | undefined
      let isCanceled = false
      void settled.then(() => {
        if (!isCanceled) cancel = call()
      })
      return () => {
        isCanceled = true
        cancel?.()
      }
    },
    async refreshDue() {
      follow()
      await settled
    },
    async refreshAfter(seq) {
      if (get().seq > seq) return
      await refetch()
      if (get().seq <= seq) throw get().shown.error ?? clientError('SESSION_NOT_FOUND')
    },
    async isSuperseded(seq) {
      await settled
      return get().seq > seq
    },
    report(reason, userChanges) {
      if (!/^(SESSION_(NOT_FOUND|EXPIRED)|ACCOUNT_BANNED)$/.test(reason)) return
      // The user may be changing the password, or ending an impersonation. If Better Auth got the old cookie
      // before its response sets the new one, it would delete the new one.
      setTimeout(() => {
        if (userChanges === get().shown.userChanges) void refetch()
      }, MAX_CHANGE_MS)
    },
  }
}

/** Returns a day at most, and also for a date that can't be read. */
function delayUntilHalf(expiresAt: Date | string | undefined): number {
  const half = (Date.parse(`${expiresAt}`) - Date.now()) / 2
  return Math.max(MINUTE_MS, Math.min(DAY_MS, half || DAY_MS))
}
