import { expect, test } from 'vitest'
import { createStore } from '../../src/client/client-session.ts'
import { hydrate, type SessionState, transition } from '../../src/client/session-state.ts'
import { waitUntilDecided } from '../../src/links/wait-until-decided.ts'

/** Creates the session of a client in an outage, which counts its listeners. */
function createSession() {
  const store = createStore<SessionState>(hydrate(undefined))
  let listeners = 0
  const session = {
    get: store.get,
    getState: () => store.get().shown,
    subscribe(listener: () => void) {
      const unsubscribe = store.subscribe(listener)
      listeners++
      return () => {
        if (unsubscribe()) listeners--
      }
    },
  }
  const signIn = () => {
    const receipt = { userId: 'u1', sessionId: 's1', expiresIn: 900, seq: 1 }
    store.set(transition(store.get(), { type: 'received', receipt }))
  }
  return { session: session as Parameters<typeof waitUntilDecided>[0], signIn, count: () => listeners }
}

test('listens until the state is decided', async () => {
  const { session, signIn, count } = createSession()
  const decided = waitUntilDecided(session, new AbortController().signal)
  expect(count()).toBe(1)
  signIn()
  expect(await decided).toBeNull()
  expect(count()).toBe(0)
})

test.each(['before', 'while'])('a call that is canceled %s it waits leaves no listener', async (when) => {
  const { session, count } = createSession()
  const canceled = new AbortController()
  if (when === 'before') canceled.abort()
  const decided = waitUntilDecided(session, canceled.signal)
  canceled.abort()
  expect(await decided).toBeNull()
  expect(count()).toBe(0)
})
