import { type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import { rateLimited } from '@sallyport/core/internal/server'
import {
  type AuthHandle,
  type AuthRequest,
  authRequest,
  type SessionRead,
  type Transport,
} from './auth-handle.ts'
import { CallLease, callLease, isLeased } from './call-lease.ts'
import type { AuthContext, DatabaseContext } from './context.ts'
import { reportError, toTRPCError } from './errors.ts'
import { guardOutput, isStream } from './guard-output.ts'
import type { CallOptions, Middleware } from './middleware.ts'

/** `ctx.auth` behind a session middleware. */
export interface AuthorizedHandle extends AuthHandle {
  /** Aborts when the session ends or the client disconnects. Pass it to all that the resolver starts. */
  readonly signal: AbortSignal
}

interface LeasedHandle extends AuthorizedHandle {
  readonly [callLease]: CallLease
}

/** The handle of a guarded call. The one of an outer guard would have that guard's signal. */
class GuardedHandle implements LeasedHandle {
  readonly transport: Transport
  readonly address: AuthHandle['address']
  readonly [authRequest]: AuthRequest
  readonly [callLease]: CallLease

  constructor({ ctx, path, type, signal }: CallOptions<AuthContext>) {
    const { transport, address, [authRequest]: request } = ctx.auth
    this.transport = transport
    this.address = address
    this[authRequest] = { ...request, kind: type, path }
    this[callLease] = new CallLease(ctx.auth, {
      config: request.config,
      path,
      caller: signal,
      // A socket is closed instead, and tRPC's client continues its subscriptions on the next one.
      isResumable: type === 'subscription' && transport === 'http',
    })
  }

  get signal(): AbortSignal {
    return this[callLease].signal
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
  const { [authRequest]: request, [callLease]: lease } = auth
  let found: SessionRead | null
  try {
    found = await read(call, auth)
  } catch (error) {
    // The resolver hasn't run, so the client may replay the call.
    const step = request.isIdentified() ? 'step2' : 'step1'
    throw reportError(toTRPCError(error, call), { path, step }, request.config)
  }
  if (found === null) return next({ ctx: { identity: null, session: null, user: null } })
  lease.begin(found)
  const { identity, session } = found
  request.identity = identity
  const release = type === 'subscription' ? reserveSubscription(call) : null
  const members = { identity, session, user: session.user, auth }
  const result = await next({ ctx: add === undefined ? members : { ...add(call, auth), ...members } })

  if (result.ok && (request.carriesStreams || isStream(result.data))) {
    const data = guardStreams(result.data, auth, release)
    if (data !== result.data) return { ...result, data }
  }
  release?.()
  lease.end()
  // An AuthError from the resolver, such as a lost database, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    const error = toTRPCError(result.error.cause)
    return { ...result, error: reportError(error, { path, step: 'procedure' }, request.config) }
  }
  return result
}

/** @param release releases the place of a subscription on its socket */
function guardStreams(data: unknown, auth: LeasedHandle, release: (() => void) | null): unknown {
  const lease = auth[callLease]
  const { kind, carriesStreams, limiter } = auth[authRequest]
  if (!isStream(data)) release?.()
  // This transport never reads the stream, so abort it here or the resolver's work leaks.
  else if (kind !== 'subscription' && !carriesStreams) lease.abandon()
  const openStream = () => {
    release?.()
    return lease.openStream()
  }
  return guardOutput(data, { openStream, isStreamed: carriesStreams, writable: limiter?.writable })
}

/** Reserves a place on the socket for a subscription, once per call. Returns a function that releases it. */
function reserveSubscription({ ctx, path }: CallOptions<AuthContext>): (() => void) | null {
  const { limiter, config } = ctx.auth[authRequest]
  if (limiter === undefined || isLeased(ctx.auth)) return null
  const release = limiter.reserveSubscription()
  if (release !== null) return release
  throw toTRPCError(rateLimited('socket:subscriptions', 5, config), { path })
}
