import { type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import { rateLimited } from '@sallyport/core/internal/server'
import { type AuthHandle, authCall, authRequest, CallHandle } from './auth-handle.ts'
import { CallLease, callLease, isLeased } from './call-lease.ts'
import type { AuthContext, DatabaseContext } from './context.ts'
import { reportError, toTRPCError } from './errors.ts'
import { guardOutput, isStream } from './guard-output.ts'
import type { CallOptions, Middleware } from './middleware.ts'
import type { SessionRead } from './session-read.ts'

/** `ctx.auth` behind a session middleware. */
export interface AuthorizedHandle extends AuthHandle {
  /** Aborts when the session ends or the client disconnects. Pass it to all that the resolver starts. */
  readonly signal: AbortSignal
}

interface LeasedHandle extends AuthorizedHandle {
  readonly [callLease]: CallLease
}

/** The handle of a guarded call. The one of an outer guard would have that guard's signal. */
class GuardedHandle extends CallHandle implements LeasedHandle {
  readonly #outer: AuthHandle
  readonly #caller: AbortSignal | undefined
  #read: SessionRead | null = null
  /** Created on first use: most calls need none. */
  #lease: CallLease | undefined
  #isOver = false

  constructor({ ctx: { auth }, path, type, signal }: CallOptions<AuthContext>) {
    const { isGet, identity, store } = auth[authCall]
    super(auth[authRequest], { kind: type, isGet, path, identity, store })
    this.#outer = auth
    this.#caller = signal
  }

  /** Whether a resolver made the call, by `createCaller`. It can read streams on every transport. */
  get isNested(): boolean {
    // Calls of clients have a signal.
    if (this.#caller === undefined) return true
    const outer = this.#outer
    if (!(outer instanceof GuardedHandle)) return false
    return outer[authCall].path !== this[authCall].path || outer.isNested
  }

  get [callLease](): CallLease {
    if (this.#lease !== undefined) return this.#lease
    if (this.#read === null) throw new TypeError('No session was read for this call')
    const { kind, path = '' } = this[authCall]
    this.#lease = new CallLease(this.#read, {
      // Conditions of a procedure that a resolver calls don't apply to the resolver's own call.
      outer: this.#outer[authCall].path === path ? this.#outer : {},
      config: this[authRequest].config,
      path,
      callers: [this.#caller, this[authRequest].closed],
      // A socket is closed instead, and tRPC's client continues its subscriptions on the next one.
      isResumable: kind === 'subscription' && this.transport === 'http',
      isOver: this.#isOver,
    })
    return this.#lease
  }

  get signal(): AbortSignal {
    return this[callLease].signal
  }

  begin(read: SessionRead): void {
    this.#read = read
    this[authCall].identity = read.identity
  }

  end(): void {
    this.#isOver = true
    this.#lease?.end()
  }
}

/** The context members that a session middleware adds. */
export interface SessionContext {
  readonly auth: AuthorizedHandle
  readonly identity: Identity
  readonly session: Session
  readonly user: SessionUser
}

const brand = Symbol.for('sallyport.guard')

/** Returns whether a middleware requires a session, also one from another copy of this package. */
export function isGuard(middleware: unknown): boolean {
  return typeof middleware === 'function' && brand in middleware
}

interface GuardParts<Call> {
  /** Runs both steps. Returns null for an anonymous caller who may continue. */
  readonly read: (call: Call, auth: LeasedHandle) => Promise<SessionRead | null>
  /** Returns further context members. */
  readonly add?: ((call: Call, auth: LeasedHandle) => object) | undefined
}

/** Creates a middleware that accepts a call if `read` returns a session. */
export function createGuard<Added extends object = object>(
  parts: GuardParts<CallOptions<DatabaseContext>>,
): Middleware<DatabaseContext, SessionContext & Added> {
  return markGuard((call: CallOptions<DatabaseContext>) => guardCall(call, parts))
}

export function markGuard<Guard extends object>(guard: Guard): Guard {
  Object.defineProperty(guard, brand, { value: true })
  return guard
}

/** Runs both steps and then the rest of the call, whose streams end with the session. */
export async function guardCall<Call extends CallOptions<AuthContext>>(
  call: Call,
  { read, add }: GuardParts<Call>,
): ReturnType<Middleware<AuthContext, SessionContext>> {
  const { next, path, type } = call
  const auth = new GuardedHandle(call)
  const request = auth[authRequest]
  let found: SessionRead | null
  try {
    found = await read(call, auth)
  } catch (error) {
    // The resolver hasn't run, so the client may replay the call.
    const step = request.isIdentified() ? 'step2' : 'step1'
    throw reportError(toTRPCError(error, call), { path, step }, request.config)
  }
  if (found === null) return next({ ctx: { identity: null, session: null, user: null } })
  auth.begin(found)
  const { identity, session } = found
  const release = type === 'subscription' ? reserveSubscription(call) : null
  const members = { identity, session, user: session.user, auth }
  const result = await next({ ctx: add === undefined ? members : { ...add(call, auth), ...members } })

  if (result.ok && (request.carriesStreams || isStream(result.data))) {
    const data = guardStreams(result.data, auth, release)
    if (data !== result.data) return { ...result, data }
  }
  release?.()
  auth.end()
  // An AuthError from the resolver, such as a lost database, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    const error = toTRPCError(result.error.cause)
    return { ...result, error: reportError(error, { path, step: 'procedure' }, request.config) }
  }
  return result
}

/** @param release releases the place of a subscription on its socket */
function guardStreams(data: unknown, auth: GuardedHandle, release: (() => void) | null): unknown {
  const { carriesStreams, limiter } = auth[authRequest]
  // This transport never reads the stream, so abort it here or the resolver's work leaks.
  if (auth[authCall].kind !== 'subscription' && !carriesStreams && !auth.isNested) auth[callLease].abandon()
  const openStream = () => {
    release?.()
    return auth[callLease].openStream()
  }
  const writable = limiter && (() => limiter.writable())
  return guardOutput(data, { openStream, isStreamed: carriesStreams, writable })
}

/** Reserves a place on the socket for a subscription, once per call. Returns a function that releases it. */
function reserveSubscription({ ctx, path }: CallOptions<AuthContext>): (() => void) | null {
  const { limiter, config } = ctx.auth[authRequest]
  if (limiter === undefined || isLeased(ctx.auth)) return null
  const release = limiter.reserveSubscription()
  if (release !== null) return release
  throw toTRPCError(rateLimited('socket:subscriptions', 5, config), { path })
}
