import { type AuthConfig, isAuthError } from '@sallyport/core'
import type { Connection } from './auth-handle.ts'
import { leasesOf } from './session-leases.ts'

/** What we need of a `WebSocket` of `ws`. */
export interface ClosableSocket {
  readonly readyState: number
  close(code: number, reason: string): void
  once(event: 'close', listener: () => void): unknown
}

/** The `readyState` of a socket that is open (RFC 6455; `WebSocket.OPEN`). */
const OPEN = 1

/** The close code for a banned user: 4000 and a HTTP status, from the range that is free for applications. */
const CLOSE_CODE = 4403

/** What streams and calls are given to send their refusal before the socket is closed, in milliseconds. */
const LAST_WORDS_MS = 100

/**
 * Closes the socket of a user who is banned, after the error of each stream and call has been sent. From the first admission on it hears of
 * what happens to the session, also while nothing is called; a session that has merely ended leaves it open.
 */
export function guardSocket(socket: ClosableSocket, config: AuthConfig): Connection {
  let isHeld = false
  let isClosing = false

  function refused(error: unknown): void {
    if (isClosing || !isAuthError(error) || error.reason !== 'ACCOUNT_BANNED') return
    isClosing = true
    const timer = setTimeout(() => socket.close(CLOSE_CODE, error.reason), LAST_WORDS_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  return {
    admitted(admission, store) {
      if (isHeld || socket.readyState !== OPEN) return
      isHeld = true
      const { identity } = admission
      const lease = leasesOf(store, config)(admission, {
        identity,
        emits: false,
        confirm() {},
        refuse: refused,
      })
      socket.once('close', lease.leave)
    },
    refused,
  }
}
