import {
  type AuthConfig,
  type AuthDatabase,
  checkOrigin,
  type HeaderReader,
  type RequestKind,
} from '@sallyport/core'
import { trustProxies } from '@sallyport/core/address'
import { type AuthHandle, createAuthHandle } from './auth-handle.ts'
import { type ClosableSocket, guardSocket } from './guard-socket.ts'
import { headerReader, type NodeHeaders } from './request-headers.ts'

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
  /** The WebSocket itself, which is closed with code 4403 when its user is banned. */
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

/**
 * Where the credentials of a request enter the context, one function a transport. They never throw and check nothing: what is
 * wrong with a request is the answer of the first guard that asks.
 *
 * @throws ConfigurationError when `trustedProxies` names what is no address
 * @example
 * const auth = createAuthContext(authConfig)
 * export const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db: database.db })
 * export const wsContext = (options: WsContextOptions) => ({ ...auth.ws(options), db: database.db })
 */
export function createAuthContext(config: AuthConfig): AuthContextFactory {
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
            ...(res !== undefined && { connection: guardSocket(res, config) }),
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
