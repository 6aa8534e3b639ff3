import {
  ENDPOINTS,
  type HydrationState,
  type NewSecretResponse,
  type TokenResponse,
} from '@sallyport/core/protocol'
import {
  type AuthClientError,
  isDecided,
  isRefusal,
  isSignedOut,
  ownError,
  signedOut,
  toClientError,
  userChanged,
} from './auth-client-error.ts'
import type { AuthState } from './auth-state.ts'
import { backOff } from './back-off.ts'
import type { CallEndpoint } from './call-endpoint.ts'
import type { ClientSession } from './client-session.ts'
import { hydrateReceipt, hydrateState } from './hydrate.ts'
import { dueInMs, type Held, hold, type Receipt } from './receipt.ts'
import type { TabMessage, Tabs } from './tabs.ts'
import type { TokenStore } from './transport.ts'
import { isHidden, listenForWaking } from './waking.ts'

/** A client session, and what the client itself does with it. */
export interface OwnedClientSession extends ClientSession {
  /** Asks the token endpoint, once for all who ask meanwhile and for all tabs. Never rejects: the state says how it went. */
  refresh(): Promise<AuthState>
  /** Runs a call that may change who is signed in, while no other tab does, and takes over what it answers. */
  change(call: () => Promise<object>): Promise<object>
  signOut(): Promise<void>
}

/** How long the token endpoint and sign-out may take, in milliseconds. */
const TIMEOUT_MS = 10_000

/** Refreshes that refused calls may cause in a minute: more would be a loop. */
const MOST_A_MINUTE = 3

/** By how much of the leeway a timer may be early, so that not all devices refresh at once. */
const JITTER = 1 / 6

/** A session that is about to end has JWTs that are due at once. */
const SHORTEST_TIMER_MS = 1_000

/** The longest delay that a timer takes, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Holds who is signed in, and keeps the JWT fresh while anyone listens. Nothing begins before someone listens or asks.
 *
 * Only the token endpoint decides whether a session has ended, and only by an answer that says so; whatever else happens, the state
 * stays what it was, with the error for the page to show.
 */
export function createClientSession({
  callEndpoint,
  tokens,
  tabs,
  rendered,
}: {
  callEndpoint: CallEndpoint
  /** Where the program keeps the tokens itself. */
  tokens: TokenStore | undefined
  tabs: Tabs
  /** What the server rendered. */
  rendered: HydrationState | undefined
}): OwnedClientSession {
  const listeners = new Set<() => void>()
  let state = hydrateState(rendered)
  let held: Held | null = hydrateReceipt(rendered)
  let generation = held === null ? 0 : 1
  /** Counts what makes the answer to a refresh in flight worthless: another user, or the end. */
  let turn = 0
  let refreshing: Promise<void> | null = null
  let aborter: AbortController | undefined
  let leaving: Promise<void> | null = null
  let endedBy = signedOut()
  let endedId: string | null = null
  let failures = 0
  let forcedAt: number[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let hurry = (): void => {}
  let stop: (() => void) | null = null

  function set(change: Partial<AuthState>): void {
    state = { ...state, ...change }
    for (const listener of [...listeners]) listener()
  }

  /** It is certain who is signed in. */
  function become({ userId, sessionId }: Pick<AuthState, 'userId' | 'sessionId'>): void {
    const isOther = sessionId !== state.sessionId
    // The first answer changes nothing: nobody's rows were shown.
    const isChange = isOther && !/loading|unknown/.test(state.status)
    if (isOther) turn++
    failures = 0
    set({
      status: sessionId === null ? 'unauthenticated' : 'authenticated',
      epoch: state.epoch + Number(isChange),
      userId,
      sessionId,
      error: null,
    })
    arm()
  }

  /** A JWT has come, from the server or by way of another tab. */
  function receive(receipt: Receipt): void {
    // Ids are not used again: news of one that has ended was late.
    if (receipt.sessionId === endedId || receipt.seq <= (held?.seq ?? 0)) return
    held = hold(receipt)
    generation++
    become(receipt)
  }

  /** Takes over what an endpoint has answered, and tells the other tabs. */
  async function accept(response: TokenResponse, begun: number): Promise<void> {
    const { userId, sessionId, expiresIn } = response
    const others = await tabs.latest()
    const seq = Math.max(Date.now(), (held?.seq ?? 0) + 1, (others?.seq ?? 0) + 1)
    const receipt = { userId, sessionId, expiresIn, seq }
    await tokens?.keep(response, receipt)
    if (turn !== begun) return
    receive(receipt)
    await tabs.tell({ type: 'received', receipt })
  }

  /** The session has ended for certain. */
  function end(error: AuthClientError): void {
    endedBy = error
    endedId = state.sessionId ?? endedId
    held = null
    become({ userId: null, sessionId: null })
  }

  async function endEverywhere(error: AuthClientError): Promise<void> {
    const { status, sessionId } = state
    end(error)
    await tokens?.forget()
    if (sessionId !== null || status === 'signing-out') await tabs.tell({ type: 'ended', sessionId })
  }

  async function hear(message: TabMessage): Promise<void> {
    // Where tokens are kept by the program, the other tab has put them there.
    await tokens?.recall()
    const { status, sessionId } = state
    if (message.type === 'received') {
      const isOther = sessionId !== null && sessionId !== message.receipt.sessionId
      if (status !== 'signing-out' || isOther) receive(message.receipt)
    } else if (message.sessionId === null) void refresh()
    else if (message.sessionId === sessionId) end(signedOut())
  }

  function fail(error: AuthClientError): void {
    failures++
    set({ status: state.status === 'loading' ? 'unknown' : state.status, error })
    arm()
  }

  /** Sets the timer for what comes next. */
  function arm(): void {
    clearTimeout(timer)
    const { error } = state
    if (stop === null || isOut() || (error !== null && isDecided(error))) return
    const dueIn = held === null ? 0 : dueInMs(held, Math.random() * JITTER)
    const delay = error === null ? dueIn : backOff(failures, error.retryAfterSeconds)
    const ring = () => {
      // A page that nobody sees keeps no session alive; it wakes when it is seen again.
      if (!isHidden()) void refresh()
    }
    timer = setTimeout(ring, Math.max(SHORTEST_TIMER_MS, Math.min(delay, LONGEST_TIMER_MS)))
  }

  /** Whether nobody is signed in, or about to be nobody. */
  function isOut(): boolean {
    return /^(un.*ated|signing-out)$/.test(state.status)
  }

  function wake(isFromHistory: boolean): void {
    if (isHidden()) return
    hurry()
    if (isFromHistory || (!isOut() && (state.error !== null || isDueNow()))) void refresh()
    else arm()
  }

  /** Whether there is something to ask: a first answer, or a new JWT. */
  function isDueNow(): boolean {
    return /loading|unknown/.test(state.status) || isDue(held)
  }

  function refresh(): Promise<AuthState> {
    refreshing ??= ask().finally(() => {
      refreshing = null
    })
    return refreshing.then(() => state)
  }

  async function ask(): Promise<void> {
    aborter = new AbortController()
    const { signal } = aborter
    const begun = turn
    const newest = held?.seq ?? 0
    try {
      await tabs.exclusively(async () => {
        // Another tab may have been faster, and another user may have come.
        if (turn !== begun || state.status === 'signing-out' || ((held?.seq ?? 0) > newest && !isDue(held)))
          return
        const known = await (tokens ? tokens.recall() : tabs.latest())
        if (known === null && tokens) return end(signedOut())
        if (known && known.seq > newest && !isDue(hold(known))) return receive(known)
        const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
        const response = await callEndpoint(ENDPOINTS.token, {}, limit)
        if (!isTokenResponse(response)) throw ownError('UNKNOWN', 200)
        await accept(response, begun)
      })
    } catch (cause) {
      if (turn !== begun) return
      const error = toClientError(cause)
      if (isSignedOut(error)) await endEverywhere(error)
      else fail(error)
    }
  }

  /** Whether a refused call may cause another refresh. */
  function mayForce(): boolean {
    const now = performance.now()
    forcedAt = forcedAt.filter((at) => now - at < 60_000)
    if (forcedAt.length >= MOST_A_MINUTE) return false
    forcedAt.push(now)
    return true
  }

  async function refreshAfter(refused: number): Promise<void> {
    if (generation > refused) return
    if (state.status === 'unauthenticated') throw endedBy
    if (refreshing === null) {
      // A timer is already set for the next attempt.
      if (stop !== null && failures > 0 && state.error !== null) throw state.error
      if (!mayForce()) {
        const error = ownError('REFRESH_LOOP', 401)
        set({ error })
        throw error
      }
    }
    const { status, error } = await refresh()
    if (generation > refused) return
    throw status === 'unauthenticated' ? endedBy : (error ?? userChanged())
  }

  async function leave(): Promise<void> {
    const { status } = state
    const begun = ++turn
    clearTimeout(timer)
    aborter?.abort()
    set({ status: 'signing-out', error: null })
    // The page shows it and lets go of what it had before the server is asked: React renders in a microtask.
    await null
    await null
    for (let attempts = 1; turn === begun; attempts++) {
      let outcome = signedOut()
      try {
        await tabs.exclusively(async () => {
          if (turn === begun) await callEndpoint(ENDPOINTS.signOut, {}, AbortSignal.timeout(TIMEOUT_MS))
        })
      } catch (cause) {
        outcome = toClientError(cause)
      }
      if (turn !== begun) break
      if (isSignedOut(outcome)) return endEverywhere(outcome)
      if (isRefusal(outcome)) {
        set({ status, error: outcome })
        arm()
        throw outcome
      }
      set({ error: outcome })
      await new Promise<void>((resolve) => {
        hurry = resolve
        setTimeout(resolve, backOff(attempts, outcome.retryAfterSeconds))
      })
    }
    // Another tab has signed the same user out, or another user has come.
    if (state.status !== 'unauthenticated') throw userChanged()
  }

  function subscribe(listener: () => void): () => void {
    listeners.add(listener)
    if (stop === null) {
      const stopHearing = tabs.listen((message) => void hear(message))
      const stopWaking = listenForWaking(wake)
      stop = () => {
        stopHearing()
        stopWaking()
      }
      if (isDueNow()) void refresh()
      else arm()
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      stop?.()
      stop = null
      clearTimeout(timer)
    }
  }

  return {
    get generation() {
      return generation
    },
    isBearer: tokens !== undefined,
    getState: () => state,
    subscribe,
    token: () => tokens?.current() ?? null,
    refresh,
    refreshAfter,
    async refreshIfDue() {
      const isUnread = tokens && state.status === 'loading'
      if (isUnread || (isDue(held) && failures === 0)) await refresh()
    },
    report(reason, epoch) {
      const { status, error } = state
      if (epoch !== state.epoch || status !== 'authenticated' || error?.code === reason) return
      if (refreshing === null && mayForce()) void refresh()
    },
    settled: () =>
      new Promise((resolve) => {
        const check = () => {
          const { status, error } = state
          const stands = status === 'unauthenticated' || (status === 'authenticated' && error === null)
          if (!stands && (error === null || !isDecided(error))) return
          unsubscribe()
          resolve(state)
        }
        const unsubscribe = subscribe(check)
        check()
      }),
    change: (call) =>
      tabs.exclusively(async () => {
        const response = await call()
        if (isTokenResponse(response)) await accept(response, turn)
        // A new secret alone, as after a change of the password.
        else if ('sessionToken' in response) await tokens?.keep(response as NewSecretResponse)
        return response
      }),
    signOut() {
      leaving ??= leave().finally(() => {
        leaving = null
      })
      return leaving
    },
  }
}

function isDue(held: Held | null): boolean {
  return held !== null && dueInMs(held) <= 0
}

function isTokenResponse(body: object): body is TokenResponse {
  return 'expiresIn' in body && 'userId' in body && 'sessionId' in body
}
