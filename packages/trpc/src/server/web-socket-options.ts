import type { IncomingMessage } from 'node:http'
import { type AuthConfig, checkOrigin, isAuthError, MAX_BATCH_SIZE, MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { headerReader } from './request-headers.ts'

/** Options of tRPC's handlers, over HTTP and WebSocket: at most 20 calls in a batch or frame. */
export const authHandlerOptions: { readonly maxBatchSize: number } = { maxBatchSize: MAX_BATCH_SIZE }

/** Options of a `WebSocketServer` of `ws`. */
export interface WebSocketOptions {
  readonly maxPayload: number
  readonly verifyClient: (
    info: { req: Pick<IncomingMessage, 'headers'> },
    callback: (accepted: boolean, status?: number, message?: string) => void,
  ) => void
}

/**
 * Options of the `WebSocketServer`: messages of at most 64 KB, and the upgrade check. Browsers send cookies along with a WebSocket
 * from any site, so a foreign origin is refused with 403 `ORIGIN_REJECTED`. Where bearer transport is enabled it is let in, but its
 * cookies count for nothing.
 *
 * @example const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
 */
export function webSocketOptions(config: AuthConfig): WebSocketOptions {
  return {
    maxPayload: MAX_PAYLOAD_BYTES,
    verifyClient({ req }, callback) {
      try {
        if (!config.bearer)
          checkOrigin({ method: 'GET', header: headerReader(req.headers) }, 'upgrade', config)
        callback(true)
      } catch (error) {
        callback(false, 403, isAuthError(error) ? error.reason : 'ORIGIN_REJECTED')
      }
    },
  }
}
