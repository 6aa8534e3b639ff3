import { authStore, type Identity, isAuthError, type Session } from '@sallyport/core'
import type { TRPCMiddlewareFunction } from '@trpc/server'
import { isObservable } from '@trpc/server/observable'
import type { Admission, AuthHandle } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { guardIterable, guardObservable } from './guard-stream.ts'
import { type SessionWatch, watchSession } from './watch-session.ts'

/** The handle of a call that both doors let through. */
export interface AdmittedHandle extends AuthHandle {
  /** Aborts when the session ends. Pass it to whatever the resolver starts. */
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

type CallOptions = Pick<Parameters<Middleware<DatabaseContext, SessionContext>>[0], 'ctx' | 'next' | 'type'>
type Result = Awaited<ReturnType<Middleware<DatabaseContext, SessionContext>>>

/**
 * Runs the rest of a call for which the session was admitted. The session is watched while a stream is open, and where the resolver
 * asks for the signal; any other call pays nothing for it.
 */
export async function runAdmitted(admission: Admission, { ctx, next, type }: CallOptions): Promise<Result> {
  let watch: SessionWatch | undefined
  const startWatch = () => {
    watch ??= watchSession(admission, ctx.db[authStore], ctx.auth.config)
    return watch
  }
  if (type === 'subscription') startWatch()
  const { identity, session } = admission
  const result = await next({ ctx: { identity, session, auth: admit(ctx.auth, startWatch) } })

  if (result.ok && isAsyncIterable(result.data)) {
    return { ...result, data: guardIterable(result.data, startWatch()) }
  }
  if (result.ok && isObservable(result.data)) {
    return { ...result, data: guardObservable(result.data, startWatch()) }
  }
  watch?.stop()
  // A refusal of our own from further in, such as a database that has gone away, keeps its reason.
  if (!result.ok && result.error.code === 'INTERNAL_SERVER_ERROR' && isAuthError(result.error.cause)) {
    return { ...result, error: toTRPCError(result.error.cause, { replay: false }) }
  }
  return result
}

function admit(handle: AuthHandle, startWatch: () => SessionWatch): AdmittedHandle {
  return {
    ...handle,
    get signal() {
      return startWatch().signal
    },
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
