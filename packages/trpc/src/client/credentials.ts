import type { TokenResponse } from '@sallyport/core/internal/protocol'
import { type AuthClientError, isSuperseded } from './auth-client-error.ts'
import type { SessionStore } from './client-session.ts'
import type { Receipt } from './receipt.ts'
import type { TabMessage } from './tabs.ts'

/** Returns the newest JWT that the program stored or another tab received. Call it within `lock`. */
export function latestReceipt(store: SessionStore): Promise<Receipt | null> | undefined {
  return store.tokens ? store.tokens.read() : store.tabs.latest?.()
}

/** Stores a response and notifies the other tabs, unless the session has changed since that epoch. */
export async function accept(
  store: SessionStore,
  response: TokenResponse,
  { epoch, isNew }: { epoch: number; isNew?: boolean },
): Promise<void> {
  const { userId, sessionId, expiresIn } = response
  const others = await store.tabs.latest?.()
  const seq = Math.max(Date.now(), store.get().seq + 1, (others?.seq ?? 0) + 1)
  const receipt = { userId, sessionId, expiresIn, seq }
  if (store.get().epoch !== epoch) return
  await store.tokens?.keep(response, receipt)
  // The user may have signed out meanwhile.
  if (store.get().epoch !== epoch) return
  const message = { ...receipt, isNew }
  store.emit({ type: 'received', receipt: message })
  await store.tabs.post?.(message)
}

/** Ends the session here and in the other tabs. */
export async function end(store: SessionStore, error: AuthClientError): Promise<void> {
  const { sessionId } = store.get().shown
  const isOld = isSuperseded(error)
  store.emit({ type: 'ended', error: isOld ? error : undefined })
  await store.tokens?.forget()
  // Another tab may have newer credentials than those that were superseded.
  await store.tabs.post?.({ sessionId: isOld ? null : sessionId })
}

/** Runs work under the lock, after adopting the JWT of another tab. Its message may arrive later. */
export function inTurn<Result>(store: SessionStore, work: () => Promise<Result>): Promise<Result> {
  return store.tabs.lock(async () => {
    const known = await latestReceipt(store)
    if (known && store.get().shown.sessionId) store.emit({ type: 'received', receipt: known })
    return work()
  })
}

/** Applies the messages of other tabs. Returns a function that stops it. */
export function followTabs(store: SessionStore, refresh: () => unknown): (() => void) | undefined {
  async function apply(message: TabMessage): Promise<void> {
    // The other tab changed the stored tokens, maybe where only it reads them, as in `sessionStorage`.
    const own = await store.tokens?.read()
    const { status, sessionId } = store.get().shown
    if (message.seq) {
      const receipt = store.tokens ? own : message
      if (receipt && (status !== 'signing-out' || sessionId))
        store.emit({ type: 'received', receipt: { ...receipt, isNew: message.isNew } })
      // If the clock was set back, the JWT of the current session may seem older than one of the former.
      if (sessionId && receipt?.sessionId !== store.get().shown.sessionId) refresh()
    } else if (sessionId && message.sessionId === sessionId) store.emit({ type: 'ended' })
    else if (sessionId) refresh()
  }

  async function compare(): Promise<void> {
    const known = await latestReceipt(store)
    const { held, shown, isStale } = store.get()
    // Since the page was rendered, another tab may have signed in.
    if (known && known.sessionId !== shown.sessionId) refresh()
    // Tabs with an older page may show another user. Later JWTs are announced when they arrive.
    if (!known && held && !isStale) await store.tabs.post?.(held)
  }

  void store.tabs.lock(compare).catch(refresh)
  return store.tabs.listen?.((message) => void apply(message).catch(refresh))
}
