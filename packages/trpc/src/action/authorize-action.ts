import type { AuthDatabase } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { bindRunner } from '../runtime/runner/bind-runner.ts'
import type { FunctionContext, Runner } from '../runtime/runner/runner.ts'
import { selectStore } from '../runtime/select-adapter.ts'
import { type AuthRequest, authRequest, type SessionRead } from '../server/auth-handle.ts'
import { callLease } from '../server/call-lease.ts'
import type { AuthContext } from '../server/context.ts'
import {
  handleOf,
  type Middleware,
  markGuard,
  orReject,
  runAuthorized,
  type SessionContext,
} from '../server/guard.ts'

/** The context of the procedure that an action is made of. */
export interface ActionSource extends AuthContext {
  readonly db?: AuthDatabase | undefined
}

/** Runs both steps, removes the database from the context, and adds `runQuery` and `runMutation`. */
export function authorizeAction(
  runnerOf: (ctx: ActionSource) => Runner,
): Middleware<ActionSource, SessionContext & FunctionContext & { readonly db: undefined }> {
  const guard: ReturnType<typeof authorizeAction> = async (call) => {
    const { ctx, type, signal } = call
    const auth = handleOf(call)
    const { read, runner } = await orReject(call, authenticate(ctx, auth[authRequest], runnerOf))
    const { identity: actor, session } = read
    auth[callLease].begin(read)
    // The server may call a mutation for a request that came by GET.
    const isQuery = type === 'query' || (type === 'mutation' && ctx.auth[authRequest].isGet)
    const added = { db: undefined, ...bindRunner(runner, { actor, signal, isQuery }) }
    return runAuthorized(call, { auth, session, added })
  }
  return markGuard(guard)
}

async function authenticate(
  ctx: ActionSource,
  request: AuthRequest,
  runnerOf: (ctx: ActionSource) => Runner | undefined,
): Promise<{ read: SessionRead; runner: Runner }> {
  const runner = runnerOf(ctx)
  // The types don't catch this: a router accepts procedures of another context.
  if (runner === undefined)
    throw new ConfigurationError(
      'The context of the action has no runner: add localRunner() or httpRunner() where the context is made',
      { code: 'CONTEXT_EMPTY' },
    )
  const store = selectStore(ctx, runner)
  request.store = store
  // A process without a database gets no revocations, so calls don't share a read.
  const read = ctx.db === undefined ? request.authenticateFresh : request.authenticate
  return { read: await read(store, request.kind), runner }
}
