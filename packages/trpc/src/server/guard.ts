import {
  AuthError,
  type AuthStore,
  type Identity,
  isAuthError,
  type RequestKind,
  type Session,
  type SessionUser,
} from '@sallyport/core'
import type { TRPCMiddlewareFunction, TRPCProcedureType } from '@trpc/server'
import { type Admission, type AuthHandle, type AuthRequest, authRequest } from './auth-handle.ts'
import { type CallWatch, callWatch, createCallWatch, isWatched, type WatchedHandle } from './call-lease.ts'
import type { DatabaseContext, StoreContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardAnswer, isStream } from './guard-output.ts'
import { storeOf } from './store-of.ts'

/** The handle of a call that both doors let through. */
export interface AdmittedHandle extends AuthHandle {
  /** Aborts when the session ends or the caller goes away. Pass it to whatever the resolver starts. */
  readonly signal: AbortSignal
}

/** What a session middleware adds to the context. */
export interface SessionContext {
  readonly auth: AdmittedHandle
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

/** A call that a guard has let in. */
export type CallOptions<Context extends StoreContext = StoreContext> = Pick<
  Parameters<Middleware<Context, SessionContext>>[0],
  'ctx' | 'next' | 'signal' | 'type' | 'path'
>
type Result = Awaited<ReturnType<Middleware<DatabaseContext, SessionContext>>>

/** Seconds to wait: by then the socket may have a place for another subscription. */
const RETRY_AFTER_SECONDS = 5

const brand = Symbol.for('sallyport.guard')

/** Whether a middleware is one that lets nobody in without a session, also one from another copy of this package. */
export function isGuard(middleware: unknown): boolean {
  return typeof middleware === 'function' && brand in middleware
}

type Admit = (request: AuthRequest, store: AuthStore, kind: RequestKind) => Promise<Admission>
type Further<Added extends object> = (admission: Admission, call: CallOptions, watch: CallWatch) => Added

/** A session middleware: it lets a call in when `admit` does, and adds the session to the context. */
export function createGuard(admit: Admit): Middleware<DatabaseContext, SessionContext>
/** @param further what it adds besides */
export function createGuard<Added extends object>(
  admit: Admit,
  further: Further<Added>,
): Middleware<DatabaseContext, SessionContext & Added>
export function createGuard(
  admit: Admit,
  further?: Further<object>,
): Middleware<DatabaseContext, SessionContext> {
  const guard: Middleware<DatabaseContext, SessionContext> = async (call) => {
    const { ctx, type } = call
    const { store, admission } = await orRefuse(call, async () => {
      const store = storeOf(ctx)
      return { store, admission: await admit(ctx.auth[authRequest], store, type) }
    })
    return runAdmitted(admission, call, { store, further })
  }
  return markGuard(guard)
}

/** Makes {@link isGuard} know a middleware. */
export function markGuard<Guard extends object>(guard: Guard): Guard {
  Object.defineProperty(guard, brand, { value: true })
  return guard
}

/** What lets a call in, or the refusal as tRPC sends it: one that came before the resolver, so the call may be sent again. */
export async function orRefuse<Admitted>(
  call: { readonly path: string },
  admit: () => Promise<Admitted>,
): Promise<Admitted> {
  try {
    return await admit()
  } catch (error) {
    throw toTRPCError(error, call)
  }
}

/** What a guard brings besides the session. */
export interface Admitting {
  /** Where the session was read, and will be read again while anything rests on it. */
  readonly store: AuthStore
  /** What it adds to the context. */
  readonly further?: Further<object> | undefined
}

/**
 * Runs the rest of a call for which the session was admitted. The session is watched while a stream is being read, and where the
 * resolver asks for the signal; any other call pays nothing for it.
 */
export async function runAdmitted(
  admission: Admission,
  call: CallOptions,
  { store, further }: Admitting,
): Promise<Result> {
  const { ctx, next, signal, type } = call
  const { identity, session } = admission
  const release = reserveSubscription(call)
  const watch = createCallWatch(admission, ctx, { store, caller: signal, onStream: release })
  const added = further?.(admission, call, watch)
  const auth = admit(ctx.auth, { watch, type, identity })
  const result = await next({ ctx: { ...added, identity, session, user: session.user, auth } })
  const { carriesStreams, limiter } = ctx.auth[authRequest]

  if (!result.ok || !isStream(result.data)) release?.()
  if (result.ok) {
    // Nobody will read it, so nobody would end what the resolver has started for it.
    if (type !== 'subscription' && !carriesStreams && isStream(result.data)) watch.leave()
    const data = guardAnswer(result.data, {
      watch,
      isStreamed: carriesStreams,
      writable: limiter?.writable,
    })
    if (data !== result.data) return { ...result, data }
  }
  watch.stop()
  // A refusal of our own from further in, such as a database that has gone away, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause) }
  }
  return result
}

/** Reserves a place for a subscription on its socket, once per call. Rejects the call if none is left. */
function reserveSubscription({ ctx, type, path }: CallOptions): (() => void) | null {
  const { limiter } = ctx.auth[authRequest]
  if (type !== 'subscription' || limiter === undefined || isWatched(ctx.auth)) return null
  const release = limiter.reserveSubscription()
  if (release !== null) return release
  throw toTRPCError(new AuthError('RATE_LIMITED', { retryAfterSeconds: RETRY_AFTER_SECONDS }), { path })
}

/** Names the members one by one: spreading the handle of another session middleware would start its watch. */
function admit(
  { transport, address, [authRequest]: request }: AuthHandle,
  { watch, type, identity }: { watch: CallWatch; type: TRPCProcedureType; identity: Identity },
): AdmittedHandle & WatchedHandle {
  return {
    transport,
    address,
    [authRequest]: { ...request, kind: type, identity },
    get signal() {
      return watch.signal()
    },
    [callWatch]: watch,
  }
}
