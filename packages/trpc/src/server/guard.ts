import { AuthError, type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import type { TRPCMiddlewareFunction } from '@trpc/server'
import { type AuthHandle, authRequest } from './auth-handle.ts'
import { CallLease, callLease, isLeased, type LeasedHandle } from './call-lease.ts'
import type { AuthContext, DatabaseContext, StoreContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardOutput, isStream } from './guard-output.ts'

/** The handle of a guarded call. */
export interface AuthorizedHandle extends AuthHandle {
  /** Aborts when the session ends or the caller goes away. Pass it to everything that the resolver starts. */
  readonly signal: AbortSignal
}

/** What a session middleware adds to the context. */
export interface SessionContext {
  readonly auth: AuthorizedHandle
  /** What Step 1 proved. */
  readonly identity: Identity
  /** What Step 2 read for this call. */
  readonly session: Session
  /** The user of the session. */
  readonly user: SessionUser
}

/** A middleware for `.use()` on any procedure whose context has `NeededContext`. */
export type Middleware<NeededContext, AddedContext> = TRPCMiddlewareFunction<
  NeededContext,
  object,
  object,
  AddedContext,
  unknown
>

/** A call as a middleware receives it. */
export type CallOptions<Context extends AuthContext = StoreContext> = Pick<
  Parameters<Middleware<Context, SessionContext>>[0],
  'ctx' | 'next' | 'signal' | 'type' | 'path'
>
type Result = Awaited<ReturnType<Middleware<DatabaseContext, SessionContext>>>

/** Seconds to wait: by then the socket may have a place for another subscription. */
const RETRY_AFTER_SECONDS = 5

const brand = Symbol.for('sallyport.guard')

/** Whether a middleware rejects callers without a session, also one from another copy of this package. */
export function isGuard(middleware: unknown): boolean {
  return typeof middleware === 'function' && brand in middleware
}

type Get = (ctx: DatabaseContext) => Promise<Session>
type Further<Added extends object> = (call: CallOptions, lease: CallLease) => Added

/** Creates a session middleware: it accepts a call for which `get` returns a session, and adds that to the context. */
export function createGuard(get: Get): Middleware<DatabaseContext, SessionContext>
/** @param further returns what else is added */
export function createGuard<Added extends object>(
  get: Get,
  further: Further<Added>,
): Middleware<DatabaseContext, SessionContext & Added>
export function createGuard(
  get: Get,
  further?: Further<object>,
): Middleware<DatabaseContext, SessionContext> {
  const guard: Middleware<DatabaseContext, SessionContext> = async (call) => {
    const auth = handleOf(call)
    const session = await orReject(call, get({ db: call.ctx.db, auth }))
    return runAuthorized(call, { auth, session, added: further?.(call, auth[callLease]) })
  }
  return markGuard(guard)
}

/** Makes {@link isGuard} recognize a middleware. */
export function markGuard<Guard extends object>(guard: Guard): Guard {
  Object.defineProperty(guard, brand, { value: true })
  return guard
}

/** Rejects a call with the error of a promise. The resolver hasn't run yet, so the client may send the call again. */
export async function orReject<Value>(
  call: { readonly path: string },
  promise: Promise<Value>,
): Promise<Value> {
  try {
    return await promise
  } catch (error) {
    throw toTRPCError(error, call)
  }
}

/**
 * Creates the handle of a call, with which `getSession` authenticates it as the procedure that it is. Names the members one by one:
 * spreading the handle of another guard would use its signal.
 */
export function handleOf({
  ctx,
  type,
  signal: caller,
}: CallOptions<AuthContext>): AuthorizedHandle & LeasedHandle {
  const { transport, address, [authRequest]: request } = ctx.auth
  const lease = new CallLease(ctx.auth, { config: request.config, caller })
  return {
    transport,
    address,
    [authRequest]: { ...request, kind: type },
    [callLease]: lease,
    get signal() {
      return lease.signal
    },
  }
}

/**
 * Runs the rest of an authorized call. The session is leased while a stream is being read, and if the resolver uses the signal; any other
 * call pays nothing for it.
 *
 * @param options.added what else is added to the context
 */
export async function runAuthorized(
  call: CallOptions<AuthContext>,
  {
    auth,
    session,
    added,
  }: { auth: AuthorizedHandle & LeasedHandle; session: Session; added?: object | undefined },
): Promise<Result> {
  const { ctx, next, type } = call
  const lease = auth[callLease]
  const { identity } = lease.read
  auth[authRequest].identity = identity
  const onStream = reserveSubscription(call)
  const result = await next({ ctx: { ...added, identity, session, user: session.user, auth } })
  const { carriesStreams, limiter } = ctx.auth[authRequest]

  if (!result.ok || !isStream(result.data)) onStream?.()
  if (result.ok) {
    // This transport never reads the stream, so abort it here or the resolver's work leaks.
    if (type !== 'subscription' && !carriesStreams && isStream(result.data)) lease.abandon()
    const data = guardOutput(result.data, {
      lease,
      onStream,
      isStreamed: carriesStreams,
      writable: limiter?.writable,
    })
    if (data !== result.data) return { ...result, data }
  }
  lease.end()
  // An error of ours from the resolver, such as a lost database, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause) }
  }
  return result
}

/** Reserves a place for a subscription on its socket, once per call. Rejects the call if none is left. */
function reserveSubscription({ ctx, type, path }: CallOptions<AuthContext>): (() => void) | null {
  const { limiter } = ctx.auth[authRequest]
  if (type !== 'subscription' || limiter === undefined || isLeased(ctx.auth)) return null
  const release = limiter.reserveSubscription()
  if (release !== null) return release
  throw toTRPCError(new AuthError('RATE_LIMITED', { retryAfterSeconds: RETRY_AFTER_SECONDS }), { path })
}
