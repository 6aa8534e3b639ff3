import {
  type AuthDatabase,
  type Identity,
  isAuthError,
  type RequestKind,
  type Session,
} from '@sallyport/core'
import type { TRPCMiddlewareFunction } from '@trpc/server'
import type { Admission, AuthHandle } from './auth-handle.ts'
import { type CallWatch, callWatch, createCallWatch, type WatchedHandle } from './call-watch.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardAnswer, isStream } from './guard-answer.ts'

/** The handle of a call that both doors let through. */
export interface AdmittedHandle extends AuthHandle {
  /** Aborts when the session ends or the caller goes away. Pass it to whatever the resolver starts. */
  readonly signal: AbortSignal
}

/** What a session middleware adds to the context. */
export interface SessionContext {
  readonly auth: AdmittedHandle
  readonly identity: Identity
  readonly session: Session
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
export type CallOptions = Pick<
  Parameters<Middleware<DatabaseContext, SessionContext>>[0],
  'ctx' | 'next' | 'signal' | 'type'
>
type Result = Awaited<ReturnType<Middleware<DatabaseContext, SessionContext>>>

const guards = new WeakSet<object>()

/** Whether a middleware is one that {@link createGuard} made. */
export function isGuard(middleware: unknown): boolean {
  return typeof middleware === 'function' && guards.has(middleware)
}

type Admit = (auth: AuthHandle, db: AuthDatabase, kind: RequestKind) => Promise<Admission>
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
  const guard: Middleware<DatabaseContext, SessionContext> = async (call) =>
    runAdmitted(await orRefuse(admit(call.ctx.auth, call.ctx.db, call.type), call), call, further)
  guards.add(guard)
  return guard
}

/** The admission, or the refusal as tRPC sends it: one that came before the resolver, so the call may be sent again. */
async function orRefuse(admission: Promise<Admission>, call: { path: string }): Promise<Admission> {
  try {
    return await admission
  } catch (error) {
    throw toTRPCError(error, call)
  }
}

/**
 * Runs the rest of a call for which the session was admitted. The session is watched while a stream is being read, and where the
 * resolver asks for the signal; any other call pays nothing for it.
 */
export async function runAdmitted(
  admission: Admission,
  call: CallOptions,
  further?: Further<object>,
): Promise<Result> {
  const { ctx, next, signal, type } = call
  const { identity, session } = admission
  const watch = createCallWatch(admission, ctx, signal)
  const added = further?.(admission, call, watch)
  const result = await next({ ctx: { ...added, identity, session, auth: admit(ctx.auth, watch) } })

  if (result.ok) {
    const { carriesStreams } = ctx.auth
    // Nobody will read it, so nobody would end what the resolver has started for it.
    if (type !== 'subscription' && !carriesStreams && isStream(result.data)) watch.leave()
    const data = guardAnswer(result.data, { watch, isStreamed: carriesStreams })
    if (data !== result.data) return { ...result, data }
  }
  watch.stop()
  // A refusal of our own from further in, such as a database that has gone away, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause) }
  }
  return result
}

/** Names the members one by one: spreading the handle of another session middleware would start its watch. */
function admit(handle: AuthHandle, watch: CallWatch): AdmittedHandle & WatchedHandle {
  const { transport, config, kind, carriesStreams, authenticate, authenticateFresh } = handle
  const { hasSessionCookie, address, wasAsked } = handle
  return {
    transport,
    config,
    kind,
    carriesStreams,
    authenticate,
    authenticateFresh,
    hasSessionCookie,
    address,
    wasAsked,
    get signal() {
      return watch.signal()
    },
    [callWatch]: watch,
  }
}
