import {
  type AuthConfig,
  type Authenticated,
  type AuthStore,
  type Identity,
  identify,
  isUndecided,
  keysVersion,
  type OriginRequest,
  type RequestKind,
  readCredentials,
  type Session,
  validateIdentity,
} from '@sallyport/core'
import { clientAddress, type ProxyTrust } from '@sallyport/core/address'
import type { SocketLimiter } from './limit-sockets.ts'

/** What both doors let through, and the moment it was read. */
export interface Admission extends Authenticated {
  /** The revision of the revocation feed before the session was read: a later one means it may have ended since. */
  readonly revision: number
  /** The version of the key sets at that moment. */
  readonly keysVersion: number
  /** That moment, on the monotonic clock. */
  readonly readAt: number
}

/** How a request came in. */
export type Transport = 'http' | 'ws' | 'headers'

/** Where a handle keeps what our own code needs of it. */
export const authRequest: unique symbol = Symbol.for('sallyport.authRequest') as never

/**
 * The credentials of one HTTP request or of one WebSocket connection, in the context as `ctx.auth`. Over HTTP
 * nothing is read or checked before a guard asks; over WebSocket the credentials are checked at the
 * handshake.
 */
export interface AuthHandle {
  /** How the call came. */
  readonly transport: Transport
  /** The address of the client, as `trustedProxies` decides; null where nobody said. */
  address(): string | null
  /** @internal */
  readonly [authRequest]: AuthRequest
}

/** The request behind a handle, for our own code: apps go by the guards and by `getSession`. */
export interface AuthRequest {
  readonly request: OriginRequest
  /** The address of the connection. */
  readonly remoteAddress: string | null
  readonly config: AuthConfig
  /** The procedure type: of a call that was let in its own, else as far as tRPC knew it. */
  readonly kind: RequestKind
  /** Whether it came to tRPC by GET, as a link does that someone opens. */
  readonly isGet: boolean
  /** Whether an answer that is a stream can be sent; tRPC leaves one that cannot unread. */
  readonly carriesStreams: boolean
  /** Whom both doors have let in; absent before they were asked. */
  readonly identity?: Identity
  /** The limits of the WebSocket that the call came on; absent over HTTP, and without `webSocketOptions`. */
  readonly limiter?: SocketLimiter | undefined
  /** Where sessions are read, where it is not the context that has the database: in an action. */
  readonly store?: AuthStore
  /**
   * Both steps. Over HTTP one read of the session serves all calls of the request, until anything is revoked and for at most a
   * second; over WebSocket every call reads.
   *
   * @throws AuthError
   */
  authenticate(store: AuthStore, kind: RequestKind): Promise<Admission>
  /** Both steps with a read of its own, which nobody has seen before. */
  authenticateFresh(store: AuthStore, kind: RequestKind): Promise<Admission>
  /** Whether a session cookie was sent, however good it is. */
  hasSessionCookie(): boolean
  /** Whether anyone has asked who the caller is: the answer may be theirs alone. */
  wasAsked(): boolean
}

/** A read of the session that has begun. */
interface Reading {
  readonly revision: number
  readonly keysVersion: number
  readonly readAt: number
  readonly session: Promise<Session>
}

/** The connection that calls come on, where it is told who was let in. */
export interface Connection {
  admitted(admission: Admission, store: AuthStore): void
  refused(error: unknown): void
}

/** How long a session read earlier in a request may be relied on, in milliseconds. */
const MEMORY_MS = 1_000

/**
 * Makes the handle of a request. `upgrade` is a WebSocket connection, whose identity lasts as long as it
 * does.
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
  let memory: Reading | null = null
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
      if (isUndecided(error)) step1 = null
    })
    return identity
  }

  async function authenticateFresh(store: AuthStore, callKind: RequestKind): Promise<Admission> {
    if (shaking !== null) await untilShaken(shaking)
    const identity = await identifyOnce(callKind)
    return read(identity, store)
  }

  /**
   * The check at the handshake. What it has read admits no call: the session may have been revoked before the
   * call came.
   */
  async function shakeHands(store: AuthStore | undefined): Promise<void> {
    try {
      const identity = await identifyOnce(kind)
      if (store === undefined) return
      const admission = await admit(identity, beginReading(identity, store, config))
      connection?.admitted(admission, store)
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
      connection?.refused(error)
      throw error
    }
  }

  function read(identity: Identity, store: AuthStore): Promise<Admission> {
    const reading = beginReading(identity, store, config)
    if (transport !== 'ws') memory = reading
    if (connection === undefined) return admit(identity, reading)
    return admitOn(connection, store, { identity, reading })
  }

  async function authenticate(store: AuthStore, callKind: RequestKind): Promise<Admission> {
    if (shaking !== null) await untilShaken(shaking)
    const identity = await identifyOnce(callKind)
    const remembered = memory
    if (remembered === null || performance.now() - remembered.readAt > MEMORY_MS) return read(identity, store)
    const admission = await admit(identity, remembered)
    // The read had begun before this call came: what was revoked since must not be overlooked.
    const isCurrent =
      remembered.revision === store.revocations.revision && remembered.keysVersion === keysVersion(config)
    return isCurrent ? admission : read(identity, store)
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

function beginReading(identity: Identity, { sessions, revocations }: AuthStore, config: AuthConfig): Reading {
  return {
    revision: revocations.revision,
    keysVersion: keysVersion(config),
    readAt: performance.now(),
    session: validateIdentity(identity, { config, adapter: sessions }),
  }
}

async function admit(identity: Identity, reading: Reading): Promise<Admission> {
  const { session, revision, keysVersion, readAt } = reading
  return { identity, session: await session, revision, keysVersion, readAt }
}

async function admitOn(
  connection: Connection,
  store: AuthStore,
  { identity, reading }: { identity: Identity; reading: Reading },
): Promise<Admission> {
  try {
    const admission = await admit(identity, reading)
    connection.admitted(admission, store)
    return admission
  } catch (error) {
    connection.refused(error)
    throw error
  }
}
