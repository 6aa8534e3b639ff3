import { type AuthConfig, isAuthError } from '@sallyport/core'
import type { Connection } from './auth-handle.ts'
import { isOpen } from './ready-state.ts'
import { subscribeToLease } from './session-leases.ts'

/** What we need of a `WebSocket` of `ws`. */
export interface ClosableSocket {
  readonly readyState: number
  send(data: string): void
  close(code: number, reason: string): void
  once(event: 'close', listener: () => void): unknown
}

/** Close codes: 4000 plus an HTTP status, from the range that is free for applications. */
const BANNED_CODE = 4403
const CREDENTIALS_REPLACED_CODE = 4401

/** tRPC's client opens a new connection, with fresh credentials, before it leaves this one. */
const RECONNECT = JSON.stringify({ id: null, method: 'reconnect' })

/** How long streams and calls have to send their errors before the socket is closed, in milliseconds. */
const CLOSE_AFTER_MS = 100

/**
 * Closes the socket of a banned user, and a socket whose credentials were replaced or whose key leaked, after
 * each stream and call has sent its error. It subscribes to the lease of the session from the first authorized
 * call on, so it works while nothing is called. A session that has ended leaves the socket open, and so does a
 * token that was invalid from the start.
 */
export function guardSocket(socket: ClosableSocket, config: AuthConfig): Connection {
  let isSubscribed = false
  let isClosing = false

  function onError(error: unknown): void {
    if (isClosing || !isAuthError(error)) return
    if (error.reason === 'ACCOUNT_BANNED') closeSoon(BANNED_CODE, error.reason)
    // A client that reconnects before it has the response with the new cookies would come back with the old
    // ones.
    if (error.reason === 'TOKEN_INVALID' && isSubscribed)
      soon(() => {
        if (isOpen(socket)) socket.send(RECONNECT)
        closeSoon(CREDENTIALS_REPLACED_CODE, error.reason)
      })
  }

  function closeSoon(code: number, reason: string): void {
    soon(() => socket.close(code, reason))
  }

  function soon(act: () => void): void {
    isClosing = true
    const timer = setTimeout(act, CLOSE_AFTER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  return {
    onRead(read) {
      if (isSubscribed || !isOpen(socket)) return
      isSubscribed = true
      const { end } = subscribeToLease(read, { emits: false, onSession() {}, onError }, config)
      socket.once('close', end)
    },
    onError,
  }
}
