import { type AuthConfig, MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { MAX_BATCH_SIZE } from '@sallyport/core/internal/protocol'
import { rateLimited, reportFailure } from '@sallyport/core/internal/server'
import { limitAddresses, type Upgrade } from './limit-addresses.ts'
import { limitSockets, type SocketClass } from './limit-sockets.ts'
import { headerReader, isOwnOrigin } from './request-headers.ts'
import { type SocketLimits, socketLimits, type WebSocketLimits } from './socket-limits.ts'
import { rememberUpgraded } from './upgraded-sockets.ts'

/**
 * Limits HTTP batches to 20 calls and bodies to 64 KB. For the fetch adapter, limit bodies before it. Over
 * WebSocket, pings the clients: otherwise, the streams of a client that disappeared would stay open.
 */
export const authHandlerOptions: {
  readonly maxBatchSize: number
  readonly maxBodySize: number
  readonly keepAlive: { readonly enabled: true }
} = {
  maxBatchSize: MAX_BATCH_SIZE,
  maxBodySize: MAX_PAYLOAD_BYTES,
  keepAlive: { enabled: true },
}

/** Options of a `WebSocketServer` of `ws`, as {@link webSocketOptions} returns them. */
export interface WebSocketOptions {
  readonly maxPayload: number
  readonly maxFragments: number
  readonly maxBufferedChunks: number
  /** Rejects upgrades from foreign origins and busy addresses. Must be called by `ws`, as a method. */
  readonly verifyClient: (
    this: object,
    info: { req: Upgrade },
    callback: (accepted: boolean, ...rejection: Rejection | []) => void,
  ) => void
}

type Rejection = [status: number, message: string, headers?: Record<string, string>]

/**
 * Returns options for the `WebSocketServer` of `ws` 8.7 or later, including the one of `@fastify/websocket`:
 * messages of at most 64 KB, the upgrade check, and the limits of each socket, session, and address.
 *
 * Browsers also send cookies when a page on a sibling host opens a WebSocket; with `cookieSameSite: 'none'`,
 * when any page does. So the upgrade of a foreign origin is rejected with 403 `ORIGIN_REJECTED`. With bearer
 * transport, it is accepted, but its cookies are ignored. An invalid `Host` or path gets 400. An address with
 * too many connections gets 429.
 *
 * @throws ConfigurationError if a limit is invalid
 * @example const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
 * @example await app.register(fastifyWebsocket, { options: webSocketOptions(authConfig) })
 */
export function webSocketOptions(config: AuthConfig, limits: WebSocketLimits = {}): WebSocketOptions {
  const onLimited = () => config.telemetry?.count('rateLimited', { limit: 'socket:frames' })
  const checked = { ...socketLimits(limits), onLimited }
  const countAddress = limitAddresses(config, checked)
  const limited = new WeakSet<object>()

  function checkUpgrade(req: Upgrade): Rejection | null {
    const { headers, url = '/' } = req
    // tRPC parses it where an exception ends the process.
    if (!URL.canParse(url, `http://${headers.host ?? 'localhost'}`)) return [400, 'Bad Request']
    const retryAfter = countAddress(req)
    if (retryAfter !== null) {
      const { reason } = rateLimited('socket:address', retryAfter, config)
      return [429, reason, { 'retry-after': String(retryAfter) }]
    }
    return config.bearer || isOwnOrigin(headerReader(headers), config) ? null : [403, 'ORIGIN_REJECTED']
  }

  /** A configuration that is read later may be invalid, and an exception would end the process. */
  function checkSafely(req: Upgrade): Rejection | null {
    try {
      return checkUpgrade(req)
    } catch (error) {
      reportFailure(error, { path: 'upgrade', step: 'step1' }, config)
      return [500, 'Internal Server Error']
    }
  }

  return {
    maxPayload: MAX_PAYLOAD_BYTES,
    // `ws` emits no event for a fragment, so the frame budget misses those of a message that never ends.
    maxFragments: 64,
    // Small parts of an incomplete message cost memory, too.
    maxBufferedChunks: 4_096,
    verifyClient({ req }, callback) {
      const rejection = limitServer(this, limited, checked) ?? checkSafely(req)
      if (rejection === null) rememberUpgraded(req.socket)
      // Not inside a `try`: the callback begins the connection, and its errors aren't errors of the upgrade.
      callback(rejection === null, ...(rejection ?? []))
    },
  }
}

/**
 * Replaces the class of a server's connections on its first upgrade. `ws` calls `verifyClient` as a method of
 * its options, which hold the class, so this module needn't import `ws`, which an app may have twice.
 */
function limitServer(
  options: { WebSocket?: unknown },
  limited: WeakSet<object>,
  limits: SocketLimits,
): Rejection | null {
  const { WebSocket: Base } = options
  if (typeof Base !== 'function') {
    console.error(
      'webSocketOptions: connections are rejected, because verifyClient was not called by ws 8.7 or later. ' +
        'If you wrap it, call it with your own `this`: options.verifyClient.call(this, info, callback).',
    )
    return [500, 'Internal Server Error']
  }
  if (limited.has(Base)) return null
  const Limited = limitSockets(Base as SocketClass, limits)
  limited.add(Limited)
  options.WebSocket = Limited
  return null
}
