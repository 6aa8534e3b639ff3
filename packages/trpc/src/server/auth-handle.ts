import {
  type AuthConfig,
  type AuthDatabase,
  type Authenticated,
  type AuthStore,
  authStore,
  type Identity,
  identify,
  isUndecided,
  type OriginRequest,
  type RequestKind,
  readCredentials,
  type Session,
  validateSession,
} from '@sallyport/core'

/** What both doors let through, and the moment it was read. */
export interface Admission extends Authenticated {
  /** The revision of the revocation feed before the session was read: a later one means it may have ended since. */
  readonly revision: number
}

/** How a request came in. */
export type Transport = 'http' | 'ws' | 'headers'

/**
 * The credentials of one HTTP request or of one WebSocket connection, in the context as `ctx.auth`. Lazy: nothing is read or
 * checked before a guard asks.
 */
export interface AuthHandle {
  readonly transport: Transport
  readonly config: AuthConfig
  /** What the request is taken for where no guard says it: the procedure type as far as tRPC knew it. */
  readonly kind: RequestKind
  /**
   * Both steps. Over HTTP one read of the session serves all calls of the request, until anything is revoked and for at most a
   * second; over WebSocket every call reads.
   *
   * @throws AuthError
   */
  authenticate(db: AuthDatabase, kind: RequestKind): Promise<Admission>
  /** Both steps with a read of its own, which nobody has seen before. */
  authenticateFresh(db: AuthDatabase, kind: RequestKind): Promise<Admission>
  /** Whether a session cookie was sent, however good it is. */
  hasSessionCookie(): boolean
}

interface SessionMemory {
  readonly session: Promise<Session>
  readonly revision: number
  readonly readAt: number
}

/** How long a session read earlier in a request may be relied on, in milliseconds. */
const MEMORY_MS = 1_000

/** Makes the handle of a request. `upgrade` is a WebSocket connection, whose identity lasts as long as it does. */
export function createAuthHandle(
  request: OriginRequest,
  options: { transport: Transport; config: AuthConfig; kind: RequestKind },
): AuthHandle {
  const { transport, config, kind } = options
  let step1: { kind: RequestKind; identity: Promise<Identity> } | null = null
  let memory: SessionMemory | null = null

  /** Step 1, once: a connection keeps its identity even when the JWT expires later, since the session row decides. */
  function identifyOnce(callKind: RequestKind): Promise<Identity> {
    const kindOfRequest = kind === 'upgrade' ? kind : callKind
    if (step1?.kind === kindOfRequest) return step1.identity
    const identity = identify(request, kindOfRequest, config)
    step1 = { kind: kindOfRequest, identity }
    identity.catch((error: unknown) => {
      if (isUndecided(error)) step1 = null
    })
    return identity
  }

  async function authenticateFresh(db: AuthDatabase, callKind: RequestKind): Promise<Admission> {
    const identity = await identifyOnce(callKind)
    return read(identity, db[authStore])
  }

  async function read(identity: Identity, { sessions, revocations }: AuthStore): Promise<Admission> {
    const { revision } = revocations
    const readAt = performance.now()
    const session = validateSession(identity, sessions, config)
    if (transport !== 'ws') memory = { session, revision, readAt }
    return { identity, session: await session, revision }
  }

  async function authenticate(db: AuthDatabase, callKind: RequestKind): Promise<Admission> {
    const identity = await identifyOnce(callKind)
    const store = db[authStore]
    const remembered = memory
    if (remembered === null || performance.now() - remembered.readAt > MEMORY_MS) return read(identity, store)
    const session = await remembered.session
    // The read had begun before this call came: what was revoked since must not be overlooked.
    if (remembered.revision !== store.revocations.revision) return read(identity, store)
    return { identity, session, revision: remembered.revision }
  }

  return {
    transport,
    config,
    kind,
    authenticate,
    authenticateFresh,
    hasSessionCookie: () => readCredentials(request.header, config).sessionCookie !== null,
  }
}
