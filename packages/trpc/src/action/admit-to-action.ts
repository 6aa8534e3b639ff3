import { type AuthDatabase, type AuthStore, ConfigurationError } from '@sallyport/core'
import type { TRPCProcedureType } from '@trpc/server'
import { bindRunner } from '../runtime/runner/bind-runner.ts'
import type { Runner } from '../runtime/runner/runner.ts'
import type { FunctionContext } from '../runtime/runtime-context.ts'
import { selectStore } from '../runtime/select-adapter.ts'
import { type Admission, type AuthHandle, authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'
import { type Middleware, markGuard, orRefuse, runAdmitted, type SessionContext } from '../server/guard.ts'

/** What actions are made of: a context with `auth`, and with a `db` or none. */
export interface ActionSource extends AuthContext {
  readonly db?: AuthDatabase | undefined
}

/** Takes the database out of the context, lets the call in when both doors do, and puts in what leads back to the database. */
export function admitToAction(
  runnerOf: (ctx: ActionSource) => Runner,
): Middleware<ActionSource, SessionContext & FunctionContext & { readonly db: undefined }> {
  const guard: ReturnType<typeof admitToAction> = async (call) => {
    const { ctx, type, signal } = call
    const { store, admission, runner } = await orRefuse(call, () => authenticate(ctx, runnerOf(ctx), type))
    // A mutation that the server calls for a request that came by GET is none.
    const isQuery = type === 'query' || (type === 'mutation' && ctx.auth[authRequest].isGet)
    const members = {
      db: undefined,
      ...bindRunner(runner, { actor: admission.identity, signal, isQuery }),
    }
    const ofAction = { ...call, ctx: { ...members, auth: withStore(ctx.auth, store) } }
    return runAdmitted(admission, ofAction, { store, further: () => members })
  }
  return markGuard(guard)
}

async function authenticate(
  ctx: ActionSource,
  runner: Runner | undefined,
  type: TRPCProcedureType,
): Promise<{ store: AuthStore; admission: Admission; runner: Runner }> {
  // Types do not tell: a router takes procedures of another context.
  if (runner === undefined)
    throw new ConfigurationError(
      'The context of the action has no runner: add localRunner() or httpRunner() where the context is made',
      { code: 'CONTEXT_EMPTY' },
    )
  const store = selectStore(ctx, runner)
  const request = ctx.auth[authRequest]
  // Where nobody tells of revocations, no read may serve a second call.
  const admission =
    ctx.db === undefined
      ? await request.authenticateFresh(store, type)
      : await request.authenticate(store, type)
  return { store, admission, runner }
}

/** The handle of an action, which knows where sessions are read when the context no longer does. */
function withStore(handle: AuthHandle, store: AuthStore): AuthHandle {
  return withMember(handle, authRequest, { value: { ...handle[authRequest], store }, enumerable: true })
}

/** A handle with another member. Not spread: that would ask for the signal, and so begin to watch the session. */
export function withMember<Handle extends AuthHandle, Name extends PropertyKey, Member>(
  handle: Handle,
  name: Name,
  member: TypedPropertyDescriptor<Member>,
): Handle & { readonly [Key in Name]: Member } {
  return Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(handle), [name]: member })
}
