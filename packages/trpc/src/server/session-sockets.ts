import { AuthError, type AuthStore } from '@sallyport/core'
import type { Connection, SessionRead } from './auth-handle.ts'
import { countDown, countUp } from './count.ts'
import type { ClosableSocket } from './guard-socket.ts'
import type { SocketLimiter } from './limit-sockets.ts'
import { isOpen } from './ready-state.ts'

/** Seconds to wait: by then another socket may have closed. */
const RETRY_AFTER_SECONDS = 5

/** How many sockets of this process each session has. */
const socketsByStore = new WeakMap<AuthStore, Map<string, number>>()

/**
 * Wraps the connection of a limited socket, to reject the calls of a session that already has too many
 * sockets.
 */
export function limitConnection(
  connection: Connection,
  { limits, authenticated }: SocketLimiter,
  socket: ClosableSocket,
): Connection {
  let isCounted = false
  return {
    onRead(read) {
      if (!isCounted && isOpen(socket)) {
        countSocket(read, { socket, max: limits.maxSocketsPerSession })
        isCounted = true
        authenticated()
      }
      connection.onRead(read)
    },
    onError: connection.onError,
  }
}

function countSocket(
  { identity: { sessionId }, store }: SessionRead,
  { socket, max }: { socket: ClosableSocket; max: number },
): void {
  const counts = socketsByStore.get(store) ?? new Map<string, number>()
  socketsByStore.set(store, counts)
  if ((counts.get(sessionId) ?? 0) >= max)
    throw new AuthError('RATE_LIMITED', { retryAfterSeconds: RETRY_AFTER_SECONDS })
  countUp(counts, sessionId)
  socket.once('close', () => countDown(counts, sessionId))
}
