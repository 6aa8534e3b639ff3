import {
  type AuthConfig,
  type AuthDatabase,
  checkOrigin,
  type HeaderReader,
  type RequestKind,
} from '@sallyport/core'
import { authStore, readCredentials, trustProxies } from '@sallyport/core/internal/server'
import { type AuthHandle, type Connection, createAuthHandle } from './auth-handle.ts'
import { type ClosableSocket, guardSocket } from './guard-socket.ts'
import { limiterOf } from './limit-sockets.ts'
import { headerReader, type NodeHeaders } from './request-headers.ts'
import { limitConnection } from './session-sockets.ts'

/** What every context of ours has. */
export interface AuthContext {
  /** The credentials of the call, which the first guard looks at. */
  readonly auth: AuthHandle
}

/** The context of queries, mutations and subscriptions: Step 2 reads the database directly (spec section 1). */
export interface DatabaseContext extends AuthContext {
  /** The `db` of `openSqlite` or `openPostgres`, or what `withAuthStore` returns. */
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

/** What a Node request knows of its connection. */
interface RemoteSocket {
  readonly remoteAddress?: string | undefined
}

/** A request as the fetch adapter, the Node adapters, Express, Fastify and Next.js hand it to `createContext`. */
export interface HttpContextOptions {
  readonly req: {
    readonly method?: string | undefined
    readonly headers: Headers | NodeHeaders
    readonly socket?: RemoteSocket
  }
  /** The address of the connection where `req` has no socket, as with the fetch adapter. Rate limits count by it. */
  readonly remoteAddress?: string | undefined
  readonly info: {
    readonly type: 'query' | 'mutation' | 'subscription' | 'unknown'
    /** `application/jsonl` where the answer may be a stream. */
    readonly accept: string | null
  }
}

/** A connection as `applyWSSHandler` hands it to `createContext`. */
export interface WsContextOptions {
  readonly req: { readonly headers: NodeHeaders; readonly socket?: RemoteSocket }
  readonly info: { readonly connectionParams: Readonly<Record<string, string | undefined>> | null }
  /**
   * The WebSocket itself: it is closed with code 4403 when its user is banned, and its limits apply to what
   * it calls.
   */
  readonly res?: ClosableSocket
}

/** The context of each transport; see {@link createAuthContext}. */
export interface AuthContextFactory {
  /** For HTTP requests and server-sent events. */
  http(options: HttpContextOptions): AuthContext
  /** For WebSocket connections. With bearer transport the connection parameter `token` carries the JWT. */
  ws(options: WsContextOptions): AuthContext
  /** For calls from the server's own code, with the headers of the page request that they are made for. */
  headers(headers: Headers | NodeHeaders, options?: { method?: string; remoteAddress?: string }): AuthContext
}

/** Options of {@link createAuthContext}. */
export interface AuthContextOptions {
  /**
   * Where the session is looked up at the handshake. Without it, as in an action, only the JWT is verified
   * then.
   */
  readonly db?: AuthDatabase
}

/**
 * Creates the functions that put the credentials of a request into the context, one for each transport. They
 * never throw: the first guard reports what is wrong with a request. Over WebSocket both steps start at the
 * handshake, and calls wait for them. A check that fails leaves the connection open.
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
      // Before tRPC knows the procedure, the strictest rule counts.
      const kind = info.type === 'unknown' ? 'mutation' : info.type
      return {
        auth: createAuthHandle(request, {
          transport: 'http',
          config,
          kind,
          carriesStreams: info.accept !== null,
          remoteAddress,
          trustsProxy,
        }),
      }
    },
    ws({ req, info, res }) {
      const header = webSocketHeaders(headerReader(req.headers), info.connectionParams?.token, config)
      return {
        auth: createAuthHandle(
          { method: 'GET', header },
          {
            transport: 'ws',
            config,
            kind: 'upgrade',
            carriesStreams: false,
            connection: res && connectionOf(res, config),
            limiter: limiterOf(res),
            ...(carriesToken(header, config) && { handshake: { store: db?.[authStore] } }),
            remoteAddress: req.socket?.remoteAddress,
            trustsProxy,
          },
        ),
      }
    },
    headers(headers, { method = 'GET', remoteAddress } = {}) {
      const kind: RequestKind = method === 'GET' ? 'query' : 'mutation'
      const request = { method, header: headerReader(headers) }
      return {
        auth: createAuthHandle(request, {
          transport: 'headers',
          config,
          kind,
          carriesStreams: true,
          remoteAddress,
          trustsProxy,
        }),
      }
    },
  }
}

function connectionOf(socket: ClosableSocket, config: AuthConfig): Connection {
  const connection = guardSocket(socket, config)
  const limiter = limiterOf(socket)
  return limiter === undefined ? connection : limitConnection(connection, limiter, socket)
}

/** Whether there is a credential to check. The first guard reports two cookies of one name. */
function carriesToken(header: HeaderReader, config: AuthConfig): boolean {
  try {
    return readCredentials(header, config).token !== null
  } catch {
    return false
  }
}

/**
 * With bearer transport, a connection from a foreign origin is let in without its cookies, and the connection parameter stands in
 * for the header that a browser cannot set on a WebSocket.
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
