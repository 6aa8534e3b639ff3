import type {
  AuthConfig,
  AuthDatabase,
  Authenticated,
  AuthStore,
  Identity,
  OriginRequest,
  RequestKind,
} from '@sallyport/core'
import { identify } from '@sallyport/core'
import {
  clientAddress,
  isUnavailable,
  keysVersion,
  type ProxyTrust,
  readCredentials,
  reportFailure,
  validateIdentity,
} from '@sallyport/core/internal/server'
import type { SocketLimiter } from './limit-sockets.ts'
import type { NodeHeaders } from './request-headers.ts'

/** A session that passed both steps. */
export interface SessionRead extends Authenticated {
  readonly store: AuthStore
  /** The revision of the revocation feed before the read. If it has changed, the session may have ended. */
  readonly revision: number
  readonly keysVersion: number
  /** When the read began, on the monotonic clock. */
  readonly readAt: number
}

/** How a call reaches the server. `headers` is a call by the server's own code. */
export type Transport = 'http' | 'ws' | 'headers'

export const authRequest: unique symbol = Symbol.for('sallyport.authRequest') as never

/** The credentials of one HTTP request or WebSocket connection, in the context as `ctx.auth`. */
export interface AuthHandle {
  readonly transport: Transport
  /** Returns the address of the client according to `trustedProxies`; null if unknown. */
  address(): string | null
  /** @internal */
  readonly [authRequest]: AuthRequest
}

/** A request, and the headers that its response gets. */
export interface SentRequest extends OriginRequest {
  readonly headers: Headers | NodeHeaders
  /** Whether guards run before the head of the response is sent. Not over WebSocket, and not for streams. */
  readonly setsHeaders: boolean
  responseHeaders?: Headers
}

export interface AuthRequest {
  readonly request: SentRequest
  readonly remoteAddress: string | null
  readonly config: AuthConfig
  /** The procedure type. Before a guard runs, it is the strictest one that tRPC's information allows. */
  readonly kind: RequestKind
  /** Whether tRPC received it as GET, as when a user opens a link. */
  readonly isGet: boolean
  /** Whether a query or mutation may return a stream. If not, tRPC doesn't read it. */
  readonly carriesStreams: boolean
  /** The path of the procedure, behind its guard. */
  readonly path?: string
  /** Set once a guard has accepted the call. */
  identity?: Identity
  /** Absent over HTTP, and without `webSocketOptions`. */
  readonly limiter?: SocketLimiter | undefined
  /** The store of an action, whose context has no database. */
  store?: AuthStore
  /** Carries the store of the guards that created this handle, for clients that several guards share. */
  readonly ownDb?: AuthDatabase | undefined
  /** Runs both steps. Over HTTP, calls of a request share a read for 1 s, or until anything is revoked. */
  authenticate(store: AuthStore, kind: RequestKind): Promise<SessionRead>
  /** Runs both steps with a read that no other call has used. */
  authenticateFresh(store: AuthStore, kind: RequestKind): Promise<SessionRead>
  hasSessionCookie(): boolean
  /** Whether Step 1 has proved who the caller is, so Step 2 rejected what failed. */
  isIdentified(): boolean
  /** Whether Step 1 has run: the response may be meant for this caller alone. */
  wasChecked(): boolean
}

export interface Connection {
  readonly limiter: SocketLimiter | undefined
  /** Throws if the connection may not be used for the session. */
  onRead(read: SessionRead): void
  onError(error: unknown): void
}

const MAX_SHARED_READ_MS = 1_000

interface AuthHandleOptions extends Pick<AuthRequest, 'config' | 'kind' | 'carriesStreams' | 'ownDb'> {
  readonly transport: Transport
  readonly remoteAddress: string | undefined
  readonly trustsProxy: ProxyTrust
  readonly connection?: Connection | undefined
  /** Checks the credentials at once: Step 1, and then Step 2 if there is a store. */
  readonly handshake?: { readonly store: AuthStore | undefined }
  readonly renew?: RenewSession | undefined
}

/**
 * Renews the session of a read if it is due. The session is read again once the promise resolves. If it is
 * still valid, the returned function adds the headers of the renewal to the response.
 */
export type RenewSession = (read: SessionRead, request: SentRequest) => Promise<() => void> | null

export function createAuthHandle(request: SentRequest, options: AuthHandleOptions): AuthHandle {
  const { transport, config, kind, remoteAddress = null, trustsProxy, connection, handshake, renew } = options
  let step1: { kind: RequestKind; identity: Promise<Identity>; isProved: boolean } | null = null
  let lastRead: { kind: RequestKind; startedAt: number; result: Promise<SessionRead> } | null = null
  let wasChecked = false
  let pendingHandshake: Promise<void> | null = null
  let isAwaited = false

  /** Runs Step 1 once. A connection keeps its identity when the JWT expires: the session row decides. */
  function identifyOnce(callKind: RequestKind): Promise<Identity> {
    wasChecked = true
    const requestKind = kind === 'upgrade' ? kind : callKind
    if (step1?.kind === requestKind) return step1.identity
    const identity = identify(request, requestKind, config)
    const started = { kind: requestKind, identity, isProved: false }
    step1 = started
    const onError = (error: unknown) => {
      if (!isUnavailable(error)) return
      step1 = null
      lastRead = null
    }
    identity.then(() => {
      started.isProved = true
    }, onError)
    return identity
  }

  /** No call relies on this read: the session may have been revoked before the call came. */
  async function checkHandshake(store: AuthStore | undefined): Promise<void> {
    try {
      const identity = await identifyOnce(kind)
      if (store === undefined) return
      const read = await readSession(identity, store, config)
      connection?.onRead(read)
    } catch (error) {
      // A call that waits reports it under its own path.
      const step = step1?.isProved ? 'step2' : 'step1'
      if (!isAwaited) reportFailure(error, { path: 'handshake', step }, config)
      throw error
    } finally {
      pendingHandshake = null
    }
  }

  function fail(error: unknown): never {
    connection?.onError(error)
    throw error
  }

  async function runSteps(store: AuthStore, callKind: RequestKind): Promise<SessionRead> {
    // A call during the handshake fails with its reason. Only then does a ban close the connection.
    if (pendingHandshake !== null) {
      isAwaited = true
      await pendingHandshake.catch(fail)
    }
    const identity = await identifyOnce(callKind)
    try {
      const first = await readSession(identity, store, config)
      const read = renew === undefined ? first : await renewIfDue(first, renew)
      connection?.onRead(read)
      return read
    } catch (error) {
      return fail(error)
    }
  }

  function authenticateFresh(store: AuthStore, callKind: RequestKind): Promise<SessionRead> {
    const startedAt = performance.now()
    const result = runSteps(store, callKind)
    lastRead = { kind: callKind, startedAt, result }
    return result
  }

  async function authenticateOnce(store: AuthStore, callKind: RequestKind): Promise<SessionRead> {
    if (lastRead?.kind === callKind && performance.now() - lastRead.startedAt <= MAX_SHARED_READ_MS) {
      const read = await lastRead.result
      // The read began before this call: a revocation since then must not be missed.
      if (read.revision === store.revocations.revision && read.keysVersion === keysVersion(config))
        return read
    }
    // Awaited here, so the calls of a batch continue in order.
    return await authenticateFresh(store, callKind)
  }

  function renewIfDue(read: SessionRead, renew: RenewSession): SessionRead | Promise<SessionRead> {
    const renewal = renew(read, request)
    if (renewal === null) return read
    const { identity, store } = read
    // The session may have ended meanwhile.
    return renewal.then(async (addHeaders) => {
      const again = await readSession(identity, store, config)
      addHeaders()
      return again
    })
  }

  if (handshake !== undefined) {
    pendingHandshake = checkHandshake(handshake.store)
    pendingHandshake.catch(() => {})
  }
  return {
    transport,
    address: () => clientAddress(remoteAddress, request.header('x-forwarded-for'), trustsProxy),
    [authRequest]: {
      request,
      remoteAddress,
      config,
      kind,
      isGet: transport === 'http' && /^(GET|HEAD)$/.test(request.method),
      carriesStreams: options.carriesStreams,
      ownDb: options.ownDb,
      limiter: connection?.limiter,
      authenticate: transport === 'ws' ? runSteps : authenticateOnce,
      authenticateFresh: transport === 'ws' ? runSteps : authenticateFresh,
      hasSessionCookie: () => readCredentials(request.header, config).sessionCookie !== null,
      isIdentified: () => step1?.isProved ?? false,
      wasChecked: () => wasChecked,
    },
  }
}

async function readSession(identity: Identity, store: AuthStore, config: AuthConfig): Promise<SessionRead> {
  const readAt = performance.now()
  const { revision } = store.revocations
  const version = keysVersion(config)
  const session = await validateIdentity(identity, { config, sessions: store.sessions })
  return { identity, store, revision, keysVersion: version, readAt, session }
}
