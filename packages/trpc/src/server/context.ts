import {
  type AuthConfig,
  type AuthDatabase,
  authStore,
  checkOrigin,
  type HeaderReader,
  readCredentials,
} from '@sallyport/core'
import { trustProxies } from '@sallyport/core/address'
import { type AuthHandle, createAuthHandle } from './auth-handle.ts'
import { type ClosableSocket, guardSocket } from './guard-socket.ts'
import { headerReader, type NodeHeaders } from './request-headers.ts'

/** The part of the context that every guard needs. */
export interface AuthContext {
  /** The credentials of the call. */
  readonly auth: AuthHandle
}

/** The context of queries, mutations, and subscriptions: Step 2 reads the database directly (spec section 1). */
export interface DatabaseContext extends AuthContext {
  /** The `db` of `openSqlite` or `openPostgres`, or the result of `withAuthStore`. */
  readonly db: AuthDatabase
}

/** The context of actions: no database, but functions that have one (spec section 1). */
export interface ActionContext extends AuthContext {
  /** Runs a query, such as that of `localRunner` or `httpRunner`. */
  readonly runQuery: object
  /** Runs a mutation. */
  readonly runMutation: object
}

/** A context from which sessions can be read. */
export type StoreContext = DatabaseContext | ActionContext

/** A request as the fetch adapter, the Node adapters, Express, Fastify, and Next.js pass it to `createContext`. */
export interface HttpContextOptions {
  readonly req: {
    readonly method?: string | undefined
    readonly headers: Headers | NodeHeaders
    readonly socket?: { readonly remoteAddress?: string | undefined }
  }
  /** The address of the connection if `req` has no socket, as with the fetch adapter. Rate limits use it. */
  readonly remoteAddress?: string | undefined
  readonly info: {
    readonly type: 'query' | 'mutation' | 'subscription' | 'unknown'
    /** `application/jsonl` if the response may be a stream. */
    readonly accept: string | null
  }
}

/** A connection as `applyWSSHandler` passes it to `createContext`. */
export interface WsContextOptions {
  readonly req: {
    readonly headers: NodeHeaders
    readonly socket?: { readonly remoteAddress?: string | undefined }
  }
  readonly info: { readonly connectionParams: Readonly<Record<string, string | undefined>> | null }
  /** The WebSocket: it is closed with code 4403 when its user is banned, and its limits apply to its calls. */
  readonly res?: ClosableSocket
}

/** The context of each transport; see {@link createAuthContext}. */
export interface AuthContextFactory {
  /** For HTTP requests and server-sent events. */
  http(options: HttpContextOptions): AuthContext
  /** For WebSocket connections. With bearer transport the connection parameter `token` carries the JWT. */
  ws(options: WsContextOptions): AuthContext
  /** For calls by the server's own code, with the headers of the page request that needs them. */
  headers(headers: Headers | NodeHeaders, options?: { method?: string; remoteAddress?: string }): AuthContext
}

/** Options of {@link createAuthContext}. */
export interface AuthContextOptions {
  /**
   * Where the session is looked up at a WebSocket handshake. Without it, as in an action, the handshake only
   * verifies the JWT.
   */
  readonly db?: AuthDatabase
}

/**
 * Creates the functions that put the credentials of a request into the context, one for each transport. They never
 * throw: the first guard reports what is wrong with a request. Over WebSocket both steps start at the handshake, and
 * calls wait for them. A check that fails leaves the connection open.
 *
 * @throws ConfigurationError when `trustedProxies` has an entry that isn't an address or a range
 * @example
 * const auth = createAuthContext(authConfig, { db: database.db })
 * export const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db: database.db })
 * export const wsContext = (options: WsContextOptions) => ({ ...auth.ws(options), db: database.db })
 */
export function createAuthContext(config: AuthConfig, { db }: AuthContextOptions = {}): AuthContextFactory {
  const trustsProxy = trustProxies(config.trustedProxies)
  return {
    http({ req, info, remoteAddress = req.socket?.remoteAddress }) {
      const request = { method: req.method ?? 'GET', header: headerReader(req.headers) }
      // Before tRPC knows the procedure, the strictest rule applies.
      const kind = info.type === 'unknown' ? 'mutation' : info.type
      const carriesStreams = info.accept !== null
      const options = { transport: 'http', config, kind, carriesStreams, remoteAddress, trustsProxy } as const
      return { auth: createAuthHandle(request, options) }
    },
    ws({ req, info, res }) {
      const header = webSocketHeaders(headerReader(req.headers), info.connectionParams?.token, config)
      const request = { method: 'GET', header }
      return {
        auth: createAuthHandle(request, {
          transport: 'ws',
          config,
          kind: 'upgrade',
          carriesStreams: false,
          remoteAddress: req.socket?.remoteAddress,
          trustsProxy,
          connection: res && guardSocket(res, config),
          ...(hasToken(header, config) && { handshake: { store: db?.[authStore] } }),
        }),
      }
    },
    headers(headers, { method = 'GET', remoteAddress } = {}) {
      const request = { method, header: headerReader(headers) }
      const kind = method === 'GET' ? 'query' : 'mutation'
      const transport = 'headers'
      const options = { transport, config, kind, carriesStreams: true, remoteAddress, trustsProxy } as const
      return { auth: createAuthHandle(request, options) }
    },
  }
}

/** Whether there is a credential to check. If credentials conflict, the first guard reports it. */
function hasToken(header: HeaderReader, config: AuthConfig): boolean {
  try {
    return readCredentials(header, config).token !== null
  } catch {
    return false
  }
}

/**
 * With bearer transport, a connection from a foreign origin is accepted without its cookies, and the connection
 * parameter replaces the header that a browser can't set on a WebSocket.
 */
function webSocketHeaders(header: HeaderReader, token: string | undefined, config: AuthConfig): HeaderReader {
  if (!config.bearer) return header
  const mayUseCookies = isOwnOrigin(header, config)
  return (name) => {
    if (name === 'authorization' && token !== undefined) return `Bearer ${token}`
    return name === 'cookie' && !mayUseCookies ? null : header(name)
  }
}

function isOwnOrigin(header: HeaderReader, config: AuthConfig): boolean {
  try {
    checkOrigin({ method: 'GET', header }, 'upgrade', config)
    return true
  } catch {
    return false
  }
}
