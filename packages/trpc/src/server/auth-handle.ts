import {
  type AuthConfig,
  type Authenticated,
  type AuthStore,
  type Identity,
  identify,
  isUnavailable,
  keysVersion,
  type OriginRequest,
  type RequestKind,
  readCredentials,
  type Session,
  validateIdentity,
} from '@sallyport/core'
import { clientAddress, type ProxyTrust } from '@sallyport/core/address'
import type { SocketLimiter } from './limit-sockets.ts'

/** A session that passed both steps, and how current it is. */
export interface SessionRead extends Authenticated {
  readonly store: AuthStore
  /** The revision of the revocation feed before the session was read. If it is a later one now, the session may have ended. */
  readonly revision: number
  /** The version of the key sets before the session was read. */
  readonly keysVersion: number
  /** When the read began, on the monotonic clock. */
  readonly readAt: number
}

/** How a request came in. */
export type Transport = 'http' | 'ws' | 'headers'

/** The key of the {@link AuthRequest} in a handle. */
export const authRequest: unique symbol = Symbol.for('sallyport.authRequest') as never

/**
 * The credentials of one HTTP request or of one WebSocket connection, in the context as `ctx.auth`. Over HTTP
 * nothing is read or checked before a guard asks; over WebSocket the credentials are checked at the
 * handshake.
 */
export interface AuthHandle {
  /** How the call came. */
  readonly transport: Transport
  /** The address of the client, as `trustedProxies` decides; null if unknown. */
  address(): string | null
  /** @internal */
  readonly [authRequest]: AuthRequest
}

/** The request behind a handle, for our own code. Apps use the guards and `getSession`. */
export interface AuthRequest {
  readonly request: OriginRequest
  /** The address of the connection. */
  readonly remoteAddress: string | null
  readonly config: AuthConfig
  /** The procedure type: in a guarded call its own, otherwise as far as tRPC knew it. */
  readonly kind: RequestKind
  /** Whether it came to tRPC by GET, as an opened link does. */
  readonly isGet: boolean
  /** Whether a query or mutation may return a stream. If not, tRPC doesn't read it. */
  readonly carriesStreams: boolean
  /** Who calls, once a guard has accepted the call. */
  identity?: Identity
  /** The limits of the WebSocket that the call came on; absent over HTTP, and without `webSocketOptions`. */
  readonly limiter?: SocketLimiter | undefined
  /** Where the sessions of an action are read, whose context has no database. */
  store?: AuthStore
  /**
   * Both steps. Over HTTP one read of the session serves all calls of the request, until anything is revoked and for at most a
   * second; over WebSocket every call reads.
   *
   * @throws AuthError
   */
  authenticate(store: AuthStore, kind: RequestKind): Promise<SessionRead>
  /** Both steps with a read that no other call has used. */
  authenticateFresh(store: AuthStore, kind: RequestKind): Promise<SessionRead>
  /** Whether a session cookie was sent, valid or not. */
  hasSessionCookie(): boolean
  /** Whether the caller was identified: the response may be meant for them alone. */
  wasAsked(): boolean
}

/** A read that has begun. */
type PendingRead = Omit<SessionRead, 'session'> & { readonly session: Promise<Session> }

/** The WebSocket connection of a handle. */
export interface Connection {
  /** Called with each read. Throws if the connection may not be used for that session. */
  onRead(read: SessionRead): void
  /** Called with each error of a read. */
  onError(error: unknown): void
}

/** How long the calls of a request may share a read, in milliseconds. */
const MAX_AGE_MS = 1_000

/**
 * Creates the handle of a request. `upgrade` is a WebSocket connection, which keeps its identity until it
 * closes.
 *
 * @param options.handshake checks the credentials at once: Step 1, and then Step 2 if there is a store
 */
export function createAuthHandle(
  request: OriginRequest,
  options: {
    transport: Transport
    config: AuthConfig
    kind: RequestKind
    carriesStreams: boolean
    remoteAddress: string | undefined
    trustsProxy: ProxyTrust
    connection?: Connection | undefined
    limiter?: SocketLimiter | undefined
    handshake?: { store: AuthStore | undefined }
  },
): AuthHandle {
  const { transport, config, kind, carriesStreams, remoteAddress = null, trustsProxy } = options
  const { connection, limiter, handshake } = options
  let step1: { kind: RequestKind; identity: Promise<Identity> } | null = null
  let lastRead: PendingRead | null = null
  let isAsked = false
  let shaking: Promise<void> | null = null

  /** Step 1, once: a connection keeps its identity even when the JWT expires later, since the session row decides. */
  function identifyOnce(callKind: RequestKind): Promise<Identity> {
    isAsked = true
    const kindOfRequest = kind === 'upgrade' ? kind : callKind
    if (step1?.kind === kindOfRequest) return step1.identity
    const identity = identify(request, kindOfRequest, config)
    step1 = { kind: kindOfRequest, identity }
    identity.catch((error: unknown) => {
      if (isUnavailable(error)) step1 = null
    })
    return identity
  }

  /**
   * The check at the handshake. No call relies on its read: the session may have been revoked before the call
   * came.
   */
  async function shakeHands(store: AuthStore | undefined): Promise<void> {
    try {
      const identity = await identifyOnce(kind)
      if (store === undefined) return
      const read = await settle(beginRead(identity, store, config))
      connection?.onRead(read)
    } finally {
      shaking = null
    }
  }

  /**
   * A call that arrived during the handshake fails with its reason. Only then does a ban close the
   * connection.
   */
  async function untilShaken(check: Promise<void>): Promise<void> {
    try {
      await check
    } catch (error) {
      connection?.onError(error)
      throw error
    }
  }

  async function authenticateFresh(store: AuthStore, callKind: RequestKind): Promise<SessionRead> {
    if (shaking !== null) await untilShaken(shaking)
    const identity = await identifyOnce(callKind)
    return readNow(identity, store)
  }

  async function authenticate(store: AuthStore, callKind: RequestKind): Promise<SessionRead> {
    if (shaking !== null) await untilShaken(shaking)
    const identity = await identifyOnce(callKind)
    const shared = lastRead
    if (shared === null || performance.now() - shared.readAt > MAX_AGE_MS) return readNow(identity, store)
    const read = await settle(shared)
    // The read had begun before this call came: a revocation since then must not be missed.
    const isCurrent =
      shared.revision === store.revocations.revision && shared.keysVersion === keysVersion(config)
    return isCurrent ? read : readNow(identity, store)
  }

  function readNow(identity: Identity, store: AuthStore): Promise<SessionRead> {
    const read = beginRead(identity, store, config)
    if (transport !== 'ws') lastRead = read
    return connection === undefined ? settle(read) : settleOn(connection, read)
  }

  if (handshake !== undefined) {
    shaking = shakeHands(handshake.store)
    shaking.catch(() => {})
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
      carriesStreams,
      limiter,
      authenticate,
      authenticateFresh,
      hasSessionCookie: () => readCredentials(request.header, config).sessionCookie !== null,
      wasAsked: () => isAsked,
    },
  }
}

function beginRead(identity: Identity, store: AuthStore, config: AuthConfig): PendingRead {
  return {
    identity,
    store,
    revision: store.revocations.revision,
    keysVersion: keysVersion(config),
    readAt: performance.now(),
    session: validateIdentity(identity, { config, sessions: store.sessions }),
  }
}

async function settle({
  identity,
  store,
  revision,
  keysVersion,
  readAt,
  session,
}: PendingRead): Promise<SessionRead> {
  return { identity, store, revision, keysVersion, readAt, session: await session }
}

async function settleOn(connection: Connection, pending: PendingRead): Promise<SessionRead> {
  try {
    const read = await settle(pending)
    connection.onRead(read)
    return read
  } catch (error) {
    connection.onError(error)
    throw error
  }
}
