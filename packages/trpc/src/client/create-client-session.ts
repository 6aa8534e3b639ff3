import { ENDPOINTS, type HydrationState, type Route, type TokenResponse } from '@sallyport/core/protocol'
import {
  type AuthClientError,
  isRefusal,
  isSignedOut,
  isSuperseded,
  ownError,
  signedOut,
  superseded,
  toClientError,
  userChanged,
} from './auth-client-error.ts'
import { type AuthState, isOut } from './auth-state.ts'
import { backOff } from './back-off.ts'
import type { CallEndpoint } from './call-endpoint.ts'
import type { ClientSession } from './client-session.ts'
import { isHidden, listenForWaking } from './focus.ts'
import { hydrateReceipt, hydrateState } from './hydrate.ts'
import { type Held, hold, type Receipt } from './receipt.ts'
import { retrySuperseded } from './retry-superseded.ts'
import type { TabMessage, Tabs } from './tabs.ts'
import type { TokenStore } from './transport.ts'
import { isDue, isRefreshDue, nextRefreshInMs } from './when-to-refresh.ts'

/** A client session, and what the client itself does with it. */
export interface OwnedClientSession extends ClientSession {
  /** Asks the token endpoint, once for all who ask meanwhile and for all tabs. Never rejects: the state says how it went. */
  refresh(): Promise<AuthState>
  /** Runs a call that may change who is signed in, while no other tab does, and takes over what it answers. */
  change(call: () => Promise<object>): Promise<object>
  /** Never rejects: the state says how it went. */
  signOut(): Promise<AuthState>
}

/** Refreshes that refused calls may cause in a minute: more would be a loop. */
const MOST_A_MINUTE = 3

/** How long the token endpoint and sign-out may take, in milliseconds. */
const TIMEOUT_MS = 10_000

/**
 * Holds who is signed in, and keeps the JWT fresh while anyone listens. Nothing begins before someone listens or asks.
 *
 * Only the token endpoint decides whether a session has ended, and only by an answer that says so; whatever else happens, the state
 * stays what it was, with the error for the page to show.
 */
export function createClientSession({
  callEndpoint,
  callAsPage,
  tokens,
  tabs,
  rendered,
}: {
  callEndpoint: CallEndpoint
  /** Calls an endpoint with the origin of the page. */
  callAsPage: CallEndpoint
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
  let oldestGeneration = generation
  /** Counts what makes the answer to a refresh in flight worthless: another user, or the end. */
  let turn = 0
  let refreshing: Promise<void> | null = null
  let aborter: AbortController | undefined
  let leaving: Promise<void> | null = null
  let endedBy = signedOut()
  /** Receipts of this session up to this number are outdated. */
  let ended: { readonly sessionId: string | null; readonly seq: number } = { sessionId: null, seq: 0 }
  let failures = 0
  let forcedAt: number[] = []
  /** Whether a rejected call caused the refresh in flight. */
  let isForced = false
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the page may show another user than the cookies are of. */
  let isSuspect = false
  /** Why the server rejects WebSockets from this page. */
  let pageError: AuthClientError | null = null
  let hurry = (): void => {}
  /** Ends a pause between two attempts of a refresh. */
  let endPause = (): void => {}
  let stop: (() => void) | null = null

  function set(change: Partial<AuthState>): void {
    state = { ...state, ...change }
    endPause()
    for (const listener of [...listeners]) listener()
  }

  /** It is certain who is signed in. */
  function become(
    { userId, sessionId }: Pick<AuthState, 'userId' | 'sessionId'>,
    { isNew = false, error = null }: { isNew?: boolean; error?: AuthClientError | null } = {},
  ): void {
    const { status } = state
    const isOther = sessionId !== state.sessionId
    // New credentials for the session don't cancel its sign-out.
    const signedIn = status === 'signing-out' && !isOther ? status : 'authenticated'
    // The first answer changes nothing, unless calls may have been answered for somebody before it.
    const isChange = (isOther && (isNew || status !== 'loading')) || status === 'unknown'
    if (isOther) turn++
    failures = 0
    isSuspect = false
    set({
      status: sessionId === null ? 'unauthenticated' : signedIn,
      userChanges: state.userChanges + Number(isChange),
      userId,
      sessionId,
      error: error ?? pageError,
    })
    arm()
  }

  /** A JWT has come, from the server or by way of another tab. */
  function receive(receipt: Receipt, isNew = false): void {
    // Ids are not used again: news of one that has ended was late.
    const isLate = receipt.sessionId === ended.sessionId && receipt.seq <= ended.seq
    if (isLate || receipt.seq <= (held?.seq ?? 0)) return
    held = hold(receipt)
    generation++
    if (isNew) oldestGeneration = generation
    become(receipt, { isNew })
  }

  /** Takes over what an endpoint has answered, and tells the other tabs. */
  async function accept(response: TokenResponse, begun: number, isNew = false): Promise<void> {
    const { userId, sessionId, expiresIn } = response
    const others = await tabs.latest?.()
    const seq = Math.max(Date.now(), (held?.seq ?? 0) + 1, (others?.seq ?? 0) + 1)
    const receipt = { userId, sessionId, expiresIn, seq }
    if (turn !== begun) return
    await tokens?.keep(response, receipt)
    if (turn !== begun) return
    receive(receipt, isNew)
    await tabs.tell?.({ type: 'received', receipt, isNew })
  }

  /**
   * Signs out in this tab.
   *
   * @param seq the last receipt that no longer works; all of them once the session has ended
   */
  function end(error: AuthClientError, seq = Number.POSITIVE_INFINITY): void {
    const { sessionId } = state
    endedBy = error
    if (sessionId !== null) ended = { sessionId, seq }
    held = null
    become({ userId: null, sessionId: null }, { error: isSuperseded(error) ? error : null })
  }

  async function endEverywhere(error: AuthClientError): Promise<void> {
    const { status, sessionId } = state
    end(error)
    await tokens?.forget()
    if (sessionId !== null || status === 'signing-out') await tabs.tell?.({ type: 'ended', sessionId })
  }

  /**
   * Within `exclusively`: the secret of this browser was superseded. Signs out here alone: for such a cookie
   * the server clears the cookies and leaves the session as it is.
   */
  async function endHere(error: AuthClientError, newest: number): Promise<void> {
    const { sessionId } = state
    const seq = Math.max(newest, held?.seq ?? 0)
    end(error, seq)
    await tokens?.forget()
    if (sessionId !== null) await tabs.tell?.({ type: 'ended', sessionId, supersededSeq: seq })
    if (!tokens) await callInTime(ENDPOINTS.signOut).catch(() => {})
  }

  async function hear(message: TabMessage): Promise<void> {
    // Where tokens are kept by the program, the other tab has put them there.
    await tokens?.recall()
    const { status, sessionId } = state
    if (message.type === 'received') {
      const isOther = sessionId !== null && sessionId !== message.receipt.sessionId
      if (status !== 'signing-out' || isOther) receive(message.receipt, message.isNew)
    } else if (message.sessionId === null) void refresh()
    else if (message.sessionId === sessionId) {
      const { supersededSeq } = message
      if (supersededSeq === undefined) end(signedOut())
      else if ((held?.seq ?? 0) <= supersededSeq) end(superseded(), supersededSeq)
    }
  }

  function fail(error: AuthClientError): void {
    failures++
    set({ status: state.status === 'loading' ? 'unknown' : state.status, error })
    arm()
  }

  /** Sets the timer for what comes next. */
  function arm(): void {
    clearTimeout(timer)
    const delay = stop === null ? null : nextRefreshInMs(state, { held, failures, pageError })
    if (delay === null) return
    timer = setTimeout(() => {
      // A page that nobody sees keeps no session alive; it wakes when it is seen again.
      if (!isHidden()) void refresh()
    }, delay)
  }

  function wake(isFromHistory: boolean): void {
    if (isHidden()) return
    hurry()
    isSuspect ||= isFromHistory
    if (isSuspect || (!isOut(state) && (state.error !== null || isRefreshDue(state, held)))) void refresh()
    else arm()
  }

  function refresh(): Promise<AuthState> {
    refreshing ??= ask().finally(() => {
      refreshing = null
      isForced = false
    })
    return refreshing.then(() => state)
  }

  async function ask(): Promise<void> {
    const begun = turn
    try {
      // What another tab received before this one asked may be of a session that has ended since.
      const newest = held?.seq ?? (tokens ? 0 : ((await tabs.latest?.())?.seq ?? 0))
      await tabs.exclusively(async () => {
        try {
          await retrySuperseded(() => askOnce(begun, newest), pause)
        } catch (cause) {
          const error = toClientError(cause)
          if (!isSuperseded(error)) throw error
          if (!(await isAnswered(begun, newest))) await endHere(error, newest)
        }
      })
    } catch (cause) {
      if (turn !== begun) return
      const error = toClientError(cause)
      if (isSignedOut(error)) await endEverywhere(error)
      else fail(error)
    }
  }

  /** Within `exclusively`. */
  async function askOnce(begun: number, newest: number): Promise<void> {
    if (await isAnswered(begun, newest)) return
    // Credentials from another tab need no request, so they don't count as a loop.
    if (isForced) forcedAt.push(performance.now())
    isForced = false
    const response = await callInTime(ENDPOINTS.token)
    if (!isTokenResponse(response)) throw ownError('UNKNOWN', 200)
    await accept(response, begun)
  }

  /** Within `exclusively`: another tab may have been faster, or another user may have signed in. */
  async function isAnswered(begun: number, newest: number): Promise<boolean> {
    const isOver = () => turn !== begun || state.status === 'signing-out'
    if (isOver() || ((held?.seq ?? 0) > newest && !isDue(held))) return true
    const known = await (tokens ? tokens.recall() : tabs.latest?.())
    if (isOver()) return true
    if (known === null && tokens) end(signedOut())
    else if (known && known.seq > newest && !isDue(hold(known))) receive(known)
    else return false
    return true
  }

  /** Ends early when the state changes: another tab may have received a JWT, or the user may sign out. */
  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      endPause = resolve
      setTimeout(resolve, milliseconds)
    })
  }

  /** Within `exclusively`: the user of another tab, of whom this one may not have heard yet. */
  async function catchUp(): Promise<void> {
    const known = await tabs.latest?.()
    if (known && state.sessionId && known.sessionId !== state.sessionId) receive(known, true)
  }

  /** What nobody may wait for long, and a sign-out calls off. */
  function callInTime(route: Route): Promise<object> {
    aborter = new AbortController()
    return callEndpoint(route, {}, aborter, TIMEOUT_MS)
  }

  /** Whether a refused call may cause another refresh. */
  function mayForce(): boolean {
    const now = performance.now()
    forcedAt = forcedAt.filter((at) => now - at < 60_000)
    isForced = forcedAt.length < MOST_A_MINUTE
    return isForced
  }

  async function refreshAfter(refused: number): Promise<void> {
    if (generation > refused) return
    if (state.status === 'unauthenticated') throw endedBy
    // A timer is already set for the next attempt.
    if (refreshing === null && stop !== null && failures > 0 && state.error !== null) throw state.error
    const mayAsk = refreshing !== null || mayForce()
    if (!mayAsk) set({ error: ownError('REFRESH_LOOP', 401) })
    const { status, error } = mayAsk ? await refresh() : state
    if (generation > refused) return
    throw status === 'unauthenticated' ? endedBy : (error ?? userChanged())
  }

  async function isOvertaken(rejected: number): Promise<boolean> {
    await tabs.exclusively(async () => {
      const known = await (tokens ? tokens.recall() : tabs.latest?.())
      if (known && state.status === 'authenticated') receive(known)
    })
    return generation > rejected
  }

  async function leave(): Promise<void> {
    const { status } = state
    const begun = ++turn
    clearTimeout(timer)
    aborter?.abort()
    set({ status: 'signing-out', error: null })
    // The page shows it and lets go of what it had before the server is asked: React renders in a microtask.
    await null
    for (let attempts = 1; turn === begun; attempts++) {
      let outcome = signedOut()
      try {
        await tabs.exclusively(async () => {
          await catchUp()
          if (turn !== begun) return
          if (!('success' in (await callInTime(ENDPOINTS.signOut)))) throw ownError('UNKNOWN', 200)
        })
      } catch (cause) {
        outcome = toClientError(cause)
      }
      // Another tab has signed the same user out, or another user has come.
      if (turn !== begun) return
      if (isSignedOut(outcome)) return endEverywhere(outcome)
      if (isRefusal(outcome)) {
        set({ status, error: outcome })
        return arm()
      }
      set({ error: outcome })
      await new Promise<void>((resolve) => {
        hurry = resolve
        setTimeout(resolve, backOff(attempts, outcome.retryAfterSeconds))
      })
    }
  }

  function subscribe(listener: () => void): () => void {
    listeners.add(listener)
    if (stop === null) {
      const stops = [
        tabs.listen?.((message) => {
          hear(message).catch(refresh)
        }),
        listenForWaking(wake),
      ]
      stop = () => {
        for (const stopEach of stops) stopEach?.()
      }
      if (isRefreshDue(state, held)) void refresh()
      else arm()
      // Since the page was rendered another tab may have signed in.
      void tabs.latest?.().then((known) => {
        if (known && known.sessionId !== state.sessionId) void refresh()
      })
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
    get oldestGeneration() {
      return oldestGeneration
    },
    isBearer: tokens !== undefined,
    getState: () => state,
    subscribe,
    token: () => tokens?.current() ?? null,
    refresh,
    refreshAfter,
    isOvertaken,
    get pageError() {
      return pageError
    },
    isPageRejected: () =>
      callAsPage(ENDPOINTS.getSession, {}, undefined, TIMEOUT_MS).then(
        () => false,
        ({ code }) => code === 'ORIGIN_REJECTED',
      ),
    rejectPage(error) {
      pageError = error
      set({ error })
    },
    async refreshIfDue() {
      const isUnread = tokens && state.status === 'loading'
      if (isUnread || ((isSuspect || isDue(held)) && failures === 0)) await refresh()
    },
    report(reason, userChanges) {
      const { status, error } = state
      if (userChanges !== state.userChanges || status !== 'authenticated' || error?.code === reason) return
      if (refreshing === null && mayForce()) void refresh()
    },
    change: (call) =>
      tabs.exclusively(async () => {
        await catchUp()
        const response = await call()
        if (isTokenResponse(response)) await accept(response, turn, true)
        return response
      }),
    signOut() {
      leaving ??= leave().finally(() => {
        leaving = null
      })
      return leaving.then(() => state)
    },
  }
}

function isTokenResponse(body: object): body is TokenResponse {
  const { expiresIn, sessionId }: Partial<Record<keyof TokenResponse, unknown>> = body
  return Number(expiresIn) > 0 && Boolean(sessionId)
}
