import {
  type AuthDatabase,
  type Identity,
  isAuthError,
  type RequestKind,
  type Session,
} from '@sallyport/core'
import type { TRPCMiddlewareFunction } from '@trpc/server'
import { isObservable } from '@trpc/server/observable'
import type { Admission, AuthHandle } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardIterable, guardObservable } from './guard-stream.ts'
import { storeOf } from './store-of.ts'
import { type SessionWatch, watchSession } from './watch-session.ts'

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

type CallOptions = Pick<
  Parameters<Middleware<DatabaseContext, SessionContext>>[0],
  'ctx' | 'next' | 'signal' | 'type'
>
type Result = Awaited<ReturnType<Middleware<DatabaseContext, SessionContext>>>

const guards = new WeakSet<object>()

/** Whether a middleware is one that {@link createGuard} made. */
export function isGuard(middleware: unknown): boolean {
  return typeof middleware === 'function' && guards.has(middleware)
}

/** A session middleware: it lets a call in when `admit` does, and adds the session to the context. */
export function createGuard(
  admit: (auth: AuthHandle, db: AuthDatabase, kind: RequestKind) => Promise<Admission>,
): Middleware<DatabaseContext, SessionContext> {
  const guard: Middleware<DatabaseContext, SessionContext> = async (call) =>
    runAdmitted(await orRefuse(admit(call.ctx.auth, call.ctx.db, call.type), call), call)
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
  { ctx, next, signal, type }: CallOptions,
): Promise<Result> {
  let watch: SessionWatch | undefined
  let isOver = false
  const startWatch = () => {
    watch ??= watchSession(admission, storeOf(ctx), { config: ctx.auth.config, caller: signal })
    // Asked for by something that outlived its call: nobody would ever end this watch.
    if (isOver) watch.stop()
    return watch
  }
  const { identity, session } = admission
  const result = await next({ ctx: { identity, session, auth: admit(ctx.auth, startWatch) } })

  if (type !== 'subscription' && !ctx.auth.carriesStreams && isStream(result)) {
    // Nobody will read it, so nobody would end what the resolver has started for it.
    watch?.leave()
    watch = undefined
  }
  if (result.ok && isAsyncIterable(result.data)) {
    return { ...result, data: guardIterable(result.data, startWatch) }
  }
  if (result.ok && isObservable(result.data)) {
    return { ...result, data: guardObservable(result.data, startWatch) }
  }
  isOver = true
  watch?.stop()
  // A refusal of our own from further in, such as a database that has gone away, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause) }
  }
  return result
}

/** Names the members one by one: spreading the handle of another session middleware would start its watch. */
function admit(handle: AuthHandle, startWatch: () => SessionWatch): AdmittedHandle {
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
      return startWatch().signal
    },
  }
}

function isStream(result: Result): boolean {
  return result.ok && (isAsyncIterable(result.data) || isObservable(result.data))
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
