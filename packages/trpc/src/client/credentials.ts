import type { TokenResponse } from '@sallyport/core/internal/protocol'
import { type AuthClientError, signedOut, superseded } from './auth-client-error.ts'
import { hold, type Receipt } from './receipt.ts'
import type { SessionStore } from './session-store.ts'
import type { TabMessage } from './tabs.ts'

/** Within `exclusively`: the newest JWT that the program stored or another tab received. */
export function latestReceipt({ tokens, tabs }: SessionStore): Promise<Receipt | null> | undefined {
  return tokens ? tokens.recall() : tabs.latest?.()
}

/** Takes over a JWT of another tab. */
export function receive(store: SessionStore, receipt: Receipt, isNew = false): void {
  store.dispatch({ type: 'received', jwt: hold(receipt), isNew })
}

/** Stores a response and tells the other tabs, unless the session has changed since that revision. */
export async function accept(
  store: SessionStore,
  response: TokenResponse,
  { revision, isNew = false }: { revision: number; isNew?: boolean },
): Promise<void> {
  const { get, tabs, tokens } = store
  const { userId, sessionId, expiresIn } = response
  const others = await tabs.latest?.()
  const seq = Math.max(Date.now(), (get().held?.seq ?? 0) + 1, (others?.seq ?? 0) + 1)
  const receipt = { userId, sessionId, expiresIn, seq }
  if (get().revision !== revision) return
  await tokens?.keep(response, receipt)
  if (get().revision !== revision) return
  receive(store, receipt, isNew)
  await tabs.tell?.({ type: 'received', receipt, isNew })
}

/** Ends the session here and in the other tabs; with `seq`, only in tabs without a newer JWT. */
export async function end(
  { get, dispatch, tabs, tokens }: SessionStore,
  error: AuthClientError,
  seq?: number,
): Promise<void> {
  const { status, sessionId } = get().shown
  dispatch({ type: 'ended', error, seq })
  await tokens?.forget()
  if (sessionId !== null || status === 'signing-out')
    await tabs.tell?.({ type: 'ended', sessionId, supersededSeq: seq })
}

/** Within `exclusively`: takes over what another tab received, whose message may not have arrived yet. */
export async function catchUp(store: SessionStore): Promise<void> {
  const known = await latestReceipt(store)
  const { sessionId } = store.get().shown
  if (known && sessionId) receive(store, known, known.sessionId !== sessionId)
}

/** Takes over what other tabs tell, and refreshes if that isn't clear. Returns what stops it. */
export function followTabs(store: SessionStore, refresh: () => unknown): (() => void) | undefined {
  const { get, dispatch, tabs, tokens } = store

  async function hear(message: TabMessage): Promise<void> {
    // The other tab has put the tokens there.
    await tokens?.recall()
    const { status, sessionId } = get().shown
    if (message.type === 'received') {
      const { receipt, isNew } = message
      const isOther = sessionId !== null && sessionId !== receipt.sessionId
      if (status !== 'signing-out' || isOther) receive(store, receipt, isNew)
    } else if (message.sessionId === null) refresh()
    else if (message.sessionId === sessionId) {
      const { supersededSeq: seq } = message
      dispatch({ type: 'ended', error: seq === undefined ? signedOut() : superseded(), seq })
    }
  }

  // Since the page was rendered, another tab may have signed in.
  void tabs.latest?.().then((known) => {
    if (known && known.sessionId !== get().shown.sessionId) refresh()
  })
  return tabs.listen?.((message) => void hear(message).catch(refresh))
}
