import { type AuthConfig, type AuthStore, isAuthError } from '@sallyport/core'
import { BANNED_CODE, CREDENTIALS_REPLACED_CODE } from '@sallyport/core/internal/protocol'
import { rateLimited } from '@sallyport/core/internal/server'
import { decrement, increment } from './limit-addresses.ts'
import { limiterOf } from './limit-sockets.ts'
import type { Connection } from './sent-request.ts'
import type { LeaseSubscriber } from './session-lease.ts'
import { subscribeToLease } from './session-leases.ts'
import type { SessionRead } from './session-read.ts'
import { isOpen, type SocketLimiter } from './socket-limiter.ts'

export interface ClosableSocket {
  readonly readyState: number
  send(data: string): void
  close(code: number, reason: string): void
  on(event: 'close', listener: () => void): unknown
}

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
export class SocketGuard implements Connection, LeaseSubscriber {
  readonly emits = false
  readonly limiter: SocketLimiter | undefined
  readonly #socket: ClosableSocket
  readonly #config: AuthConfig
  #isSubscribed = false
  #isClosing = false

  constructor(socket: ClosableSocket, config: AuthConfig) {
    this.limiter = limiterOf(socket)
    this.#socket = socket
    this.#config = config
    countOpen(socket, config)
  }

  onRead(read: SessionRead): void {
    if (this.#isSubscribed || !isOpen(this.#socket)) return
    const { sessionId } = read.identity
    const totals = this.limiter && reserveSocket(read, { limiter: this.limiter, config: this.#config })
    this.#isSubscribed = true
    const subscription = subscribeToLease(read, this, this.#config)
    this.#socket.on('close', () => {
      subscription.end()
      if (totals !== undefined) decrement(totals, sessionId)
    })
  }

  onSession(): void {}

  onError(error: unknown): void {
    if (this.#isClosing || !isAuthError(error)) return
    const { reason } = error
    const socket = this.#socket
    if (reason === 'ACCOUNT_BANNED') this.#closeLater(() => socket.close(BANNED_CODE, reason), MAX_WAIT_MS)
    // Wait: the client must not reconnect with the old cookies before it has the response with the new ones.
    if (reason === 'TOKEN_INVALID' && this.#isSubscribed)
      this.#closeLater(() => {
        if (isOpen(socket)) socket.send(RECONNECT)
        this.#closeLater(() => socket.close(CREDENTIALS_REPLACED_CODE, reason))
      })
  }

  /** Waits for open calls and subscriptions, until `maxMs` have passed. */
  #closeLater(act: () => void, maxMs = 0): void {
    this.#isClosing = true
    const startedAt = performance.now()
    const check = () => {
      if (this.limiter?.hasOpenCalls() && performance.now() - startedAt < maxMs)
        timer = setTimeout(check, CLOSE_AFTER_MS)
      else act()
    }
    let timer = setTimeout(check, CLOSE_AFTER_MS)
    this.#socket.on('close', () => clearTimeout(timer))
  }
}

/** Adds a socket to those of its session, and returns their totals. @throws AuthError `RATE_LIMITED` */
function reserveSocket(
  { store, identity: { sessionId } }: SessionRead,
  { limiter, config }: { limiter: SocketLimiter; config: AuthConfig },
): Map<string, number> {
  const totals = socketsByStore.get(store) ?? new Map<string, number>()
  socketsByStore.set(store, totals)
  if ((totals.get(sessionId) ?? 0) >= limiter.limits.maxSocketsPerSession)
    throw rateLimited('socket:session', 5, config)
  increment(totals, sessionId)
  limiter.authenticated()
  return totals
}

function countOpen(socket: ClosableSocket, config: AuthConfig): void {
  if (!isOpen(socket)) return
  try {
    const { telemetry } = config
    if (telemetry === undefined) return
    telemetry.open('sockets', 1)
    socket.on('close', () => telemetry.open('sockets', -1))
  } catch {
    // The configuration is invalid, which each call reports.
  }
}
