import { AuthError, type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import { type AuthHandle, authRequest } from './auth-handle.ts'
import { CallLease, callLease, isLeased } from './call-lease.ts'
import type { AuthContext, DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardOutput, isStream } from './guard-output.ts'
import type { CallOptions, Middleware } from './middleware.ts'

/** `ctx.auth` behind a session middleware. */
export interface AuthorizedHandle extends AuthHandle {
  /** Aborts when the session ends or the client disconnects. Pass it to all that the resolver starts. */
  readonly signal: AbortSignal
}

type LeasedHandle = AuthorizedHandle & { readonly [callLease]: CallLease }

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

/** Creates a middleware that accepts a call if `get` returns a session, and adds the result of `add`. */
export function createGuard<Added extends object = object>(
  get: (ctx: DatabaseContext) => Promise<Session>,
  add?: (call: CallOptions, lease: CallLease) => Added,
): Middleware<DatabaseContext, SessionContext & Added> {
  const guard: Middleware<DatabaseContext, SessionContext & Added> = async (call) => {
    const auth = handleOf(call)
    const session = await orReject(call, get({ db: call.ctx.db, auth }))
    return runAuthorized(call, { auth, session, added: add?.(call, auth[callLease]) })
  }
  return markGuard(guard)
}

export function markGuard<Guard extends object>(guard: Guard): Guard {
  Object.defineProperty(guard, brand, { value: true })
  return guard
}

/** Rejects a call with the error of a promise. The resolver hasn't run, so the client may replay the call. */
export async function orReject<Value>(call: { path: string }, promise: Promise<Value>): Promise<Value> {
  try {
    return await promise
  } catch (error) {
    throw toTRPCError(error, call)
  }
}

/** Creates the handle of a call. Spreading the handle of an outer guard would use that guard's signal. */
export function handleOf(call: CallOptions<AuthContext>): LeasedHandle {
  const { transport, address, [authRequest]: request } = call.ctx.auth
  const lease = new CallLease(call.ctx.auth, {
    config: request.config,
    caller: call.signal,
    // A socket is closed instead, and tRPC's client continues its subscriptions on the next one.
    isResumable: call.type === 'subscription' && transport === 'http',
  })
  return {
    transport,
    address,
    [authRequest]: { ...request, kind: call.type },
    [callLease]: lease,
    get signal() {
      return lease.signal
    },
  }
}

export async function runAuthorized(
  call: CallOptions<AuthContext>,
  { auth, session, added }: { auth: LeasedHandle; session: Session; added?: object | undefined },
): ReturnType<Middleware<DatabaseContext, SessionContext>> {
  const { ctx, next, type } = call
  const { carriesStreams, limiter } = ctx.auth[authRequest]
  const lease = auth[callLease]
  const { identity } = lease.read
  auth[authRequest].identity = identity
  const release = reserveSubscription(call)
  const result = await next({ ctx: { ...added, identity, session, user: session.user, auth } })

  if (!result.ok || !isStream(result.data)) release?.()
  if (result.ok) {
    // This transport never reads the stream, so abort it here or the resolver's work leaks.
    if (type !== 'subscription' && !carriesStreams && isStream(result.data)) lease.abandon()
    const openStream = () => {
      release?.()
      return lease.openStream()
    }
    const writable = limiter?.writable
    const data = guardOutput(result.data, { openStream, isStreamed: carriesStreams, writable })
    if (data !== result.data) return { ...result, data }
  }
  lease.end()
  // An AuthError from the resolver, such as a lost database, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause) }
  }
  return result
}

/** Reserves a place on the socket for a subscription, once per call. Returns a function that releases it. */
function reserveSubscription({ ctx, type, path }: CallOptions<AuthContext>): (() => void) | null {
  const { limiter } = ctx.auth[authRequest]
  if (type !== 'subscription' || limiter === undefined || isLeased(ctx.auth)) return null
  const release = limiter.reserveSubscription()
  if (release !== null) return release
  throw toTRPCError(new AuthError('RATE_LIMITED', { retryAfterSeconds: 5 }), { path })
}
