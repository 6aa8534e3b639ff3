import { type AuthConfig, type AuthDatabase, ConfigurationError, type HeaderReader } from '@sallyport/core'
import { authStore, proxyTrustOf, readCredentials } from '@sallyport/core/internal/server'
import { type AuthHandle, authRequest, CallHandle } from './auth-handle.ts'
import { AuthRequest } from './auth-request.ts'
import { type ClosableSocket, SocketGuard } from './guard-socket.ts'
import { headerReader, isOwnOrigin, type NodeHeaders } from './request-headers.ts'
import type { AuthRequestOptions, RenewSession, SentRequest } from './sent-request.ts'

/** The context that {@link createAuthContext} returns. Spread it into the context of the app. */
export interface AuthContext {
  readonly auth: AuthHandle
}

/** The context of queries, mutations, and subscriptions (`docs/concepts.md`). */
export interface DatabaseContext extends AuthContext {
  /** The `db` of `openSqlite` or `openPostgres`, or the result of `withAuthStore`. */
  readonly db: AuthDatabase
}

/** The context of actions: instead of a database, functions that have one (`docs/actions.md`). */
export interface ActionContext {
  /** Behind the guard of an action. In a route with `bindRunner`, call `getAuth` instead. */
  readonly auth: AuthHandle & { readonly signal: AbortSignal }
  readonly runQuery: object
  readonly runMutation: object
}

/** A context in which sessions can be read. */
export type StoreContext = DatabaseContext | ActionContext

/** The part of the options of tRPC's HTTP adapters that {@link createAuthContext} uses. */
export interface HttpContextOptions {
  readonly req: {
    readonly method?: string | undefined
    readonly headers: Headers | NodeHeaders
    readonly socket?: { readonly remoteAddress?: string | undefined }
  }
  /** The response of the adapter. Not a WebSocket. */
  readonly res?: unknown
  /** The address of the connection, for adapters whose `req` has no socket. Rate limits use it. */
  readonly remoteAddress?: string | undefined
  readonly info: {
    readonly type: 'query' | 'mutation' | 'subscription' | 'unknown'
    /** `application/jsonl` if the response may be a stream. */
    readonly accept: string | null
  }
}

/** The part of the options of `applyWSSHandler` that {@link createAuthContext} uses. */
export interface WsContextOptions {
  readonly req: {
    readonly headers: NodeHeaders
    readonly socket?: { readonly remoteAddress?: string | undefined }
  }
  readonly info: {
    readonly connectionParams: Readonly<Record<string, string | undefined>> | null
    /** Aborts when the socket closes. */
    readonly signal?: AbortSignal
  }
  /** The WebSocket. It is closed with code 4403 when its user is banned. */
  readonly res?: ClosableSocket
}

/** The options of a `createContext` that serves both transports. */
export type RequestContextOptions = HttpContextOptions | WsContextOptions

/** The functions of {@link createAuthContext}, one per transport, and one that detects the transport. */
export interface AuthContextFactory {
  /** For both. Pass all options on: without the socket in `res`, a WebSocket is treated as HTTP. */
  request(options: RequestContextOptions): AuthContext
  /** For HTTP requests and server-sent events. */
  http(options: HttpContextOptions): AuthContext
  /** For WebSocket connections. With bearer transport the connection parameter `token` carries the JWT. */
  ws(options: WsContextOptions): AuthContext
  /** For calls by the server's own code. Pass the headers of the page request. @default method: 'GET' */
  headers(headers: Headers | NodeHeaders, options?: { method?: string; remoteAddress?: string }): AuthContext
}

export interface AuthContextOptions {
  /** Looks up the session at a WebSocket handshake. Without it, the handshake only verifies the JWT. */
  readonly db?: AuthDatabase
  /** @internal Called after reads of sessions over HTTP. */
  readonly renew?: RenewSession
  /** @internal Whether guards use the store of this `db`, whichever other one `ctx.db` carries. */
  readonly ownsStore?: boolean
}

/**
 * Creates the functions that put the credentials of a request into the context. They never throw: the first
 * guard reports errors. Over WebSocket, both steps start at the handshake. A failure keeps it open.
 *
 * @throws ConfigurationError if an entry of `trustedProxies` isn't an address or a range, or Step 1 doesn't
 * accept the `mapping.issuer` of `db`
 * @example
 * const auth = createAuthContext(authConfig, { db: database.db })
 * export const createContext = (options: RequestContextOptions) => ({
 *   ...auth.request(options),
 *   db: database.db,
 * })
 */
export function createAuthContext(
  config: AuthConfig,
  { db, renew, ownsStore = false }: AuthContextOptions = {},
): AuthContextFactory {
  const ownDb = ownsStore ? db : undefined
  const issuer = ownsStore ? undefined : db?.[authStore]?.issuer
  if (issuer !== undefined) requireIssuer(config, issuer)
  const shared = { config, trustsProxy: proxyTrustOf(config), ownDb }
  const factory: AuthContextFactory = {
    request: (options) => (isWebSocket(options) ? factory.ws(options) : factory.http(options)),
    http({ req, info, remoteAddress = req.socket?.remoteAddress }) {
      const { method = 'GET', headers } = req
      const setsHeaders = info.accept === null && info.type !== 'subscription'
      const request = { method, header: headerReader(headers), headers, setsHeaders }
      // Before tRPC knows the procedure, the strictest rule applies.
      const kind = info.type === 'unknown' ? 'mutation' : info.type
      const carriesStreams = info.accept !== null
      return contextOf(request, { shared, transport: 'http', kind, carriesStreams, remoteAddress, renew })
    },
    ws({ req, info, res }) {
      const header = webSocketHeaders(req.headers, info.connectionParams?.token, config)
      const request = { method: 'GET', header, headers: req.headers, setsHeaders: false }
      const context = contextOf(request, {
        shared,
        transport: 'ws',
        kind: 'upgrade',
        carriesStreams: false,
        remoteAddress: req.socket?.remoteAddress,
        connection: res && new SocketGuard(res, config),
        closed: info.signal,
      })
      if (mayHaveToken(header, config)) context.auth[authRequest].beginHandshake(db?.[authStore])
      return context
    },
    headers(headers, { method = 'GET', remoteAddress } = {}) {
      const request = { method, header: headerReader(headers), headers, setsHeaders: false }
      const kind = method === 'GET' ? 'query' : 'mutation'
      return contextOf(request, { shared, transport: 'headers', kind, carriesStreams: true, remoteAddress })
    },
  }
  return factory
}

/** Otherwise, each call would be 401. @throws ConfigurationError */
function requireIssuer({ proof, issuers }: AuthConfig, mapped: string): void {
  const accepted = (proof === undefined ? issuers : issuers.slice(0, 1)).map(({ issuer }) => issuer)
  if (accepted.includes(mapped)) return
  const fix = proof === undefined ? ', or add it to trustedIssuers' : ''
  throw new ConfigurationError(
    `mapping.issuer is ${mapped}, but Step 1 only accepts ${accepted.join(', ')}. Set it to one of these${fix}.`,
  )
}

function contextOf(request: SentRequest, options: AuthRequestOptions): AuthContext {
  return { auth: new CallHandle(new AuthRequest(request, options)) }
}

/**
 * Not by the request: a client may send `Upgrade` or `connectionParams` over HTTP, and over
 * WebSocket, only the handshake's origin is checked. The response of an HTTP adapter has no `readyState`.
 */
function isWebSocket(options: RequestContextOptions): options is WsContextOptions {
  const res: unknown = 'res' in options ? options.res : undefined
  return typeof res === 'object' && res !== null && 'readyState' in res && 'close' in res
}

/** Returns false if credentials conflict: the first guard reports it. */
function mayHaveToken(header: HeaderReader, config: AuthConfig): boolean {
  try {
    const loading = config.proof?.ready?.()
    // Step 1 waits for it, and then reads the token.
    loading?.catch(() => {})
    if (loading !== undefined) return header('cookie') !== null || header('authorization') !== null
    return readCredentials(header, config).token !== null
  } catch {
    return false
  }
}

/**
 * Returns the headers of a WebSocket. With bearer transport, a connection from a foreign origin loses its
 * cookies, and the connection parameter replaces the header that a browser can't set.
 */
function webSocketHeaders(headers: NodeHeaders, token: string | undefined, config: AuthConfig): HeaderReader {
  return (name) => {
    const header = headerReader(headers)
    if (!config.bearer) return header(name)
    if (name === 'authorization' && token !== undefined) return `Bearer ${token}`
    return name === 'cookie' && !isOwnOrigin(header, config) ? null : header(name)
  }
}
