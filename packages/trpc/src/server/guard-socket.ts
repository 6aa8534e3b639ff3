import { type AuthConfig, type AuthStore, isAuthError } from '@sallyport/core'
import { rateLimited } from '@sallyport/core/internal/server'
import type { Connection } from './auth-handle.ts'
import { countSocket } from './limit-addresses.ts'
import { isOpen, limiterOf } from './limit-sockets.ts'
import { subscribeToLease } from './session-leases.ts'

export interface ClosableSocket {
  readonly readyState: number
  send(data: string): void
  close(code: number, reason: string): void
  once(event: 'close', listener: () => void): unknown
}

/** Close codes: 4000 plus an HTTP status, from the range that is free for applications. */
const BANNED_CODE = 4403
const CREDENTIALS_REPLACED_CODE = 4401

/** tRPC's client then opens a new connection, with fresh credentials, and moves its subscriptions to it. */
export const RECONNECT: string = JSON.stringify({ id: null, method: 'reconnect' })

/** Leaves time for streams and calls to send their errors. */
const CLOSE_AFTER_MS = 100

/** The maximum for those that learn of the ban later, such as a call whose lookup is slow. */
const MAX_WAIT_MS = 2_000

const socketsByStore = new WeakMap<AuthStore, Map<string, number>>()

/**
 * Closes the socket of a banned user, and a socket whose credentials were replaced or whose key was removed,
 * even while nothing is called. Rejects the calls of a session that has too many sockets. The socket stays
 * open if the session ended, or if the token was invalid from the start.
 */
export function guardSocket(socket: ClosableSocket, config: AuthConfig): Connection {
  const limiter = limiterOf(socket)
  countOpen(socket, config)
  let isSubscribed = false
  let isClosing = false

  function onError(error: unknown): void {
    if (isClosing || !isAuthError(error)) return
    const { reason } = error
    if (reason === 'ACCOUNT_BANNED') closeLater(() => socket.close(BANNED_CODE, reason), MAX_WAIT_MS)
    // Wait: the client must not reconnect with the old cookies before it has the response with the new ones.
    if (reason === 'TOKEN_INVALID' && isSubscribed)
      closeLater(() => {
        if (isOpen(socket)) socket.send(RECONNECT)
        closeLater(() => socket.close(CREDENTIALS_REPLACED_CODE, reason))
      })
  }

  /** Waits for open calls and subscriptions, until `maxMs` have passed. */
  function closeLater(act: () => void, maxMs = 0): void {
    isClosing = true
    const startedAt = performance.now()
    const check = () => {
      if (limiter?.hasOpenCalls() && performance.now() - startedAt < maxMs)
        timer = setTimeout(check, CLOSE_AFTER_MS)
      else act()
    }
    let timer = setTimeout(check, CLOSE_AFTER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  return {
    limiter,
    onRead(read) {
      if (isSubscribed || !isOpen(socket)) return
      if (limiter !== undefined) {
        const { sessionId } = read.identity
        const totals = socketsByStore.get(read.store) ?? new Map<string, number>()
        socketsByStore.set(read.store, totals)
        if ((totals.get(sessionId) ?? 0) >= limiter.limits.maxSocketsPerSession)
          throw rateLimited('socket:session', 5, config)
        countSocket(socket, { totals, name: sessionId })
        limiter.authenticated()
      }
      isSubscribed = true
      const { end } = subscribeToLease(read, { emits: false, onSession() {}, onError }, config)
      socket.once('close', end)
    },
    onError,
  }
}

function countOpen(socket: ClosableSocket, { telemetry }: AuthConfig): void {
  if (telemetry === undefined || !isOpen(socket)) return
  telemetry.open('sockets', 1)
  socket.once('close', () => telemetry.open('sockets', -1))
}
