import type { IncomingMessage } from 'node:http'
import { type AuthConfig, checkOrigin, isAuthError, MAX_BATCH_SIZE, MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { headerReader } from './request-headers.ts'

/**
 * Options of tRPC's handlers, over HTTP and WebSocket: at most 20 calls in a batch or frame, and, where the adapter is one of Node's,
 * bodies of at most 64 KB. The fetch adapter reads a body of any size: limit it in front.
 */
export const authHandlerOptions: { readonly maxBatchSize: number; readonly maxBodySize: number } = {
  maxBatchSize: MAX_BATCH_SIZE,
  maxBodySize: MAX_PAYLOAD_BYTES,
}

/** Options of a `WebSocketServer` of `ws`. */
export interface WebSocketOptions {
  /** Most bytes in a message. */
  readonly maxPayload: number
  /** Refuses the upgrade where the page may not use the cookies. */
  readonly verifyClient: (
    info: { req: Pick<IncomingMessage, 'headers' | 'url'> },
    callback: (accepted: boolean, status?: number, message?: string) => void,
  ) => void
}

/**
 * Options of the `WebSocketServer`: messages of at most 64 KB, and the upgrade check. Browsers send cookies along with a WebSocket
 * from any site, so a foreign origin is refused with 403 `ORIGIN_REJECTED`. Where bearer transport is enabled it is let in, but its
 * cookies count for nothing. A request whose `Host` and path make no URL is refused with 400.
 *
 * @example const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
 */
export function webSocketOptions(config: AuthConfig): WebSocketOptions {
  return {
    maxPayload: MAX_PAYLOAD_BYTES,
    verifyClient({ req }, callback) {
      const refusal = refuseUpgrade(req, config)
      // Not inside a `try`: it begins the connection, whose failures are none of the upgrade's.
      if (refusal === null) callback(true)
      else callback(false, refusal.status, refusal.message)
    },
  }
}

function refuseUpgrade(
  { headers, url = '/' }: Pick<IncomingMessage, 'headers' | 'url'>,
  config: AuthConfig,
): { status: number; message: string } | null {
  // tRPC parses it where an exception ends the process.
  if (!URL.canParse(url, `http://${headers.host ?? 'localhost'}`))
    return { status: 400, message: 'Bad Request' }
  if (config.bearer) return null
  try {
    checkOrigin({ method: 'GET', header: headerReader(headers) }, 'upgrade', config)
    return null
  } catch (error) {
    return { status: 403, message: isAuthError(error) ? error.reason : 'ORIGIN_REJECTED' }
  }
}
