import type { AuthStore, RevocationFeed } from '@sallyport/core'
import { authStore, MAX_TIMER_MS, requirePositive } from '@sallyport/core/internal/server'
import { RECONNECT } from './guard-socket.ts'
import { limiterOf } from './limit-sockets.ts'
import { isOpen, type ServerSocket } from './socket-limiter.ts'
import { endStreams, isStopped } from './stopping-streams.ts'
import { cutUpgraded } from './upgraded-sockets.ts'

/** The part of a `Server` of `node:http` that {@link drain} uses. With HTTP/2, it can't cut connections. */
export interface DrainedNodeServer {
  readonly listening: boolean
  close(callback?: () => void): unknown
  closeIdleConnections?(): void
  closeAllConnections?(): void
  getConnections(callback: (error: Error | null, count: number) => void): unknown
  once(event: 'listening', listener: () => void): unknown
  prependListener?(
    event: 'request',
    listener: (request: unknown, response: { shouldKeepAlive: boolean }) => void,
  ): unknown
}

/** A server of `node:http`, or the result of `Bun.serve` or `Deno.serve`. Deno can't cut connections. */
export type DrainedServer =
  | DrainedNodeServer
  | { stop(closeActiveConnections?: boolean): Promise<void> }
  | { shutdown(): Promise<void> }

/** The part of a `WebSocketServer` of `ws` that {@link drain} uses. */
export interface DrainedSockets {
  readonly clients: Iterable<object>
  close(): void
}

type DrainedStore = Pick<AuthStore, 'revocations'>

interface StreamSource extends Partial<DrainedStore> {
  readonly [authStore]?: DrainedStore
  readonly store?: DrainedStore
  readonly database?: DrainedStore
}

/** The part of an opened database, or of the result of `createAuth` or `betterAuthGuard`, that is drained. */
export interface DrainedAuth extends StreamSource {
  close(): unknown
}

export interface DrainOptions {
  /**
   * The result of `createAuth` or `betterAuthGuard`. In a process that only guards calls, its database.
   * Without one, anything to close, such as the connections to the backend. It is closed at the end.
   */
  readonly auth: DrainedAuth
  /**
   * The HTTP server, or all of them. Omit it if a framework stops the server, such as Next.js. Then this ends
   * the subscriptions of users, and closes `auth` after `timeoutMs` unless the process exits first.
   */
  readonly server?: DrainedServer | readonly DrainedServer[]
  /** The `WebSocketServer`, created with `webSocketOptions`. Without it, sockets are only cut. */
  readonly sockets?: DrainedSockets
  /** Milliseconds after which connections are cut, and `auth` is closed. @default 5_000 */
  readonly timeoutMs?: number
}

/** Time for clients to move to other nodes before their connections close. They wait for up to 1 s. */
const HAND_OVER_MS = 1_500
const CHECK_MS = 20

const GOING_AWAY_CODE = 1001

const drains = new WeakMap<object, Promise<void>>()

/** Returns whether {@link drain} was called, also by another copy of the module that created `auth`. */
export function isDraining(auth: object): boolean {
  if (drains.has(auth)) return true
  const feed = feedOf(auth)
  return feed !== undefined && isStopped(feed)
}

/** Returns the feed of `auth`. Before `createAuth` opens its database, reading `database` throws. */
function feedOf(auth: StreamSource): RevocationFeed | undefined {
  return (auth.store ?? auth[authStore] ?? auth.database ?? auth).revocations
}

/**
 * Stops a server. No connection is accepted, and on open ones, `/healthz` responds with 503. Calls in flight
 * get their responses, over HTTP and WebSocket. Clients move their sockets to other nodes. Subscriptions of
 * users over server-sent events end with `SESSIONS_UNAVAILABLE`, so clients continue them elsewhere. After
 * `timeoutMs`, all connections are cut, such as those of public subscriptions. Then `auth` is closed, with
 * the database that it opened. Close your own after it. Without `server`, connections stay open.
 *
 * A second call with the same `auth` returns the first promise, and ignores its own options.
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
  const clients = () => [...(sockets?.clients ?? [])] as readonly ServerSocket[]

  /** Called again, because the database may be opened meanwhile. */
  function endAllStreams(): void {
    const feed = feedOf(auth)
    if (feed !== undefined) endStreams(feed)
  }

  endAllStreams()
  sockets?.close()
  for (const socket of clients()) if (isOpen(socket)) socket.send(RECONNECT)
  const stops = server && [server].flat().map(stopServer)

  const isOver = () => stops?.every((stop) => stop.isOver()) && clients().length === 0
  while (!isOver() && performance.now() - startedAt < timeoutMs) {
    if (performance.now() - startedAt >= HAND_OVER_MS) {
      for (const socket of clients()) closeUnlessCalled(socket)
      for (const { closeIdle } of stops ?? []) closeIdle()
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, CHECK_MS)
      // The framework decides when the process ends.
      if (stops === undefined) timer.unref()
    })
    endAllStreams()
  }
  if (!isOver()) {
    for (const socket of clients()) socket.terminate()
    for (const { cut } of stops ?? []) cut()
  }
  await auth.close()
}

interface Stop {
  isOver(): boolean
  closeIdle(): void
  cut(): void
}

/** Makes a server accept no more connections. */
function stopServer(server: DrainedServer): Stop {
  if ('listening' in server) return stopNodeServer(server)
  let isRunning = true
  const stopped = 'stop' in server ? server.stop() : server.shutdown()
  const end = () => {
    isRunning = false
  }
  stopped.then(end, end)
  return {
    isOver: () => !isRunning,
    closeIdle() {},
    cut: () => 'stop' in server && void server.stop(true),
  }
}

function stopNodeServer(server: DrainedNodeServer): Stop {
  const { listening } = server
  let isRunning = true
  const end = () => {
    isRunning = false
  }
  // Tells clients to send no more requests on their connections.
  server.prependListener?.('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  if (listening) closeKeepingIdle(server, end)
  // It may be resolving its host name.
  else server.once('listening', () => server.close())
  return {
    isOver() {
      // The app may have closed it already, while calls are in flight.
      if (!listening) server.getConnections((_error, count) => count === 0 && end())
      return !isRunning
    },
    closeIdle: () => server.closeIdleConnections?.(),
    cut() {
      server.closeAllConnections?.()
      cutUpgraded(server)
    },
  }
}

/** `close` alone cuts idle connections at once, and with them requests on their way and unsent responses. */
function closeKeepingIdle(server: DrainedNodeServer, end: () => void): void {
  const { closeIdleConnections } = server
  server.closeIdleConnections = () => {}
  server.close(end)
  if (closeIdleConnections) server.closeIdleConnections = closeIdleConnections
  else delete server.closeIdleConnections
}

function closeUnlessCalled(socket: ServerSocket): void {
  if (isOpen(socket) && !limiterOf(socket)?.hasCalls()) socket.close(GOING_AWAY_CODE, 'Server stops')
}
