import type { AuthConfig, AuthDatabase, OriginRequest, RequestKind } from '@sallyport/core'
import type { ProxyTrust } from '@sallyport/core/internal/server'
import type { NodeHeaders } from './request-headers.ts'
import type { SessionRead } from './session-read.ts'
import type { SocketLimiter } from './socket-limiter.ts'

/** How a call reaches the server: `headers` if the server's own code calls. */
export type Transport = 'http' | 'ws' | 'headers'

/** A request, and the headers of its response. */
export interface SentRequest extends OriginRequest {
  readonly headers: Headers | NodeHeaders
  /** Whether guards run before the head of the response is sent. Not over WebSocket, and not for streams. */
  readonly setsHeaders: boolean
  responseHeaders?: Headers
}

export interface Connection {
  readonly limiter: SocketLimiter | undefined
  /** Throws if the connection may not be used for the session. */
  onRead(read: SessionRead): void
  onError(error: unknown): void
}

/**
 * Renews the session of a read if it is due. The session is read again once the promise resolves. If it is
 * still valid, the returned function adds the headers of the renewal to the response.
 */
export type RenewSession = (read: SessionRead, request: SentRequest) => Promise<() => void> | null

/** The same for all requests of a `createAuthContext`. */
interface SharedOptions {
  readonly config: AuthConfig
  readonly trustsProxy: ProxyTrust
  /** Carries the store of the guards that created the context, for clients that several guards share. */
  readonly ownDb: AuthDatabase | undefined
}

export interface AuthRequestOptions {
  readonly shared: SharedOptions
  readonly transport: Transport
  /** The strictest kind of call that tRPC's information allows. */
  readonly kind: RequestKind
  /** Whether a query or mutation may return a stream. If not, tRPC doesn't read it. */
  readonly carriesStreams: boolean
  readonly remoteAddress: string | undefined
  readonly connection?: Connection | undefined
  /** Aborts when a WebSocket closes. */
  readonly closed?: AbortSignal | undefined
  readonly renew?: RenewSession | undefined
}
