import type { AuthStore } from '@sallyport/core'
import { authStore, MAX_TIMER_MS, requirePositive } from '@sallyport/core/internal/server'
import { RECONNECT } from './guard-socket.ts'
import { limiterOf } from './limit-sockets.ts'
import { isOpen, type ServerSocket } from './socket-limiter.ts'
import { endStreams } from './stopping-streams.ts'
import { cutUpgraded } from './upgraded-sockets.ts'

/** The part of a `Server` of `node:http` that {@link drain} uses. With HTTP/2, it can't cut connections. */
export interface DrainedServer {
  readonly listening: boolean
  close(callback?: () => void): unknown
  closeIdleConnections?(): void
  closeAllConnections?(): void
  once(event: 'listening', listener: () => void): unknown
}

/** The part of a `WebSocketServer` of `ws` that {@link drain} uses. */
export interface DrainedSockets {
  readonly clients: Iterable<object>
  close(): void
}

type DrainedStore = Pick<AuthStore, 'revocations'>

/** The part of the result of `createAuth` or `betterAuthGuard` that {@link drain} uses. */
export interface DrainedAuth {
  close(): unknown
  readonly [authStore]?: DrainedStore
  readonly store?: DrainedStore
  readonly database?: DrainedStore
}

export interface DrainOptions {
  /**
   * The result of `createAuth` or `betterAuthGuard`. In a process without a database, anything to close, such
   * as the connections to the backend. It is closed at the end.
   */
  readonly auth: DrainedAuth
  /** The HTTP server, or all of them. */
  readonly server: DrainedServer | readonly DrainedServer[]
  /** The `WebSocketServer`, created with `webSocketOptions`. Without it, sockets are only cut. */
  readonly sockets?: DrainedSockets
  /** Milliseconds after which all connections are cut. @default 5_000 */
  readonly timeoutMs?: number
}

/** Time for clients to open a socket elsewhere before theirs closes. They wait for up to 1 s. */
const HAND_OVER_MS = 1_500
const CHECK_MS = 20

const GOING_AWAY_CODE = 1001

const drains = new WeakMap<object, Promise<void>>()

/** Returns whether {@link drain} was called. */
export function isDraining(auth: object): boolean {
  return drains.has(auth)
}

/**
 * Stops a server. No connection is accepted, and on open ones, `/healthz` responds with 503. Calls in flight
 * get their responses, over HTTP and WebSocket. Clients move their sockets to other nodes. Subscriptions of
 * users over server-sent events end with `SESSIONS_UNAVAILABLE`, so clients continue them elsewhere. After
 * `timeoutMs`, all connections are cut, such as those of public subscriptions. Then `auth` is closed, with
 * the database that it opened. Close your own after it.
 *
 * A second call with the same `auth` returns the first promise.
 *
 * @throws ConfigurationError if `timeoutMs` is invalid
 * @example
 * async function stop() {
 *   await drain({ auth, sockets, server })
 *   await database.close()
 * }
 * process.once('SIGTERM', stop)
 */
export function drain({ timeoutMs = 5_000, ...options }: DrainOptions): Promise<void> {
  requirePositive('drain: timeoutMs', timeoutMs, MAX_TIMER_MS)
  const running = drains.get(options.auth) ?? run(options, timeoutMs)
  drains.set(options.auth, running)
  return running
}

async function run({ auth, server, sockets }: DrainOptions, timeoutMs: number): Promise<void> {
  const startedAt = performance.now()
  const servers = [server].flat()
  const clients = () => [...(sockets?.clients ?? [])] as readonly ServerSocket[]
  let listening = servers.filter((each) => each.listening).length

  // The database of `createAuth` may not be open yet, but then it has a store.
  const { revocations } = auth.store ?? auth[authStore] ?? auth.database ?? {}
  if (revocations !== undefined) endStreams(revocations)
  sockets?.close()
  for (const socket of clients()) if (isOpen(socket)) socket.send(RECONNECT)
  for (const each of servers) {
    if (each.listening) each.close(() => listening--)
    // It may be resolving its host name.
    else each.once('listening', () => each.close())
  }

  function cut(): void {
    for (const socket of clients()) socket.terminate()
    for (const each of servers) {
      each.closeAllConnections?.()
      cutUpgraded(each)
    }
  }

  const isOver = () => listening === 0 && clients().length === 0
  while (!isOver() && performance.now() - startedAt < timeoutMs) {
    if (performance.now() - startedAt >= HAND_OVER_MS)
      for (const socket of clients()) closeUnlessCalled(socket)
    for (const each of servers) each.closeIdleConnections?.()
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS))
  }
  if (!isOver()) cut()
  await auth.close()
}

function closeUnlessCalled(socket: ServerSocket): void {
  if (isOpen(socket) && !limiterOf(socket)?.hasCalls()) socket.close(GOING_AWAY_CODE, 'Server stops')
}
