import { type AuthDatabase, ConfigurationError, type Identity } from '@sallyport/core'
import type { AuthDefinition, SessionOf, UserOf } from '@sallyport/core/auth'
import type { TRPCMiddlewareFunction, TRPCProcedureBuilder } from '@trpc/server'
import type { BoundAuth, GetAuth } from '../runtime/get-auth.ts'
import { bindRunner, type FunctionContext, type Runner } from '../runtime/runner/runner.ts'
import { selectStore } from '../runtime/select-adapter.ts'
import { type AuthRequest, authRequest, type SessionRead } from '../server/auth-handle.ts'
import { callLease } from '../server/call-lease.ts'
import type { AuthContext } from '../server/context.ts'
import { authErrorMiddleware } from '../server/errors.ts'
import {
  type AuthorizedHandle,
  handleOf,
  type Middleware,
  markGuard,
  orReject,
  runAuthorized,
  type SessionContext,
} from '../server/guard.ts'

interface ActionSource extends AuthContext {
  readonly db?: AuthDatabase | undefined
}

/** The members that an action adds to the context of the app, which loses its `db`. */
export interface ActionMembers<Definition extends AuthDefinition> extends FunctionContext {
  readonly auth: AuthorizedHandle & BoundAuth<Definition>
  readonly identity: Identity
  readonly session: SessionOf<Definition>
  readonly user: UserOf<Definition>
}

/** A procedure builder whose context has `auth`. */
export interface ActionProcedure {
  use(middleware: TRPCMiddlewareFunction<AuthContext, object, object, object, unknown>): unknown
}

/** Allows a context without `db`, but no `db` without a store. */
type WithUsableDatabase<Procedure> =
  ContextOf<Procedure> extends ActionSource ? unknown : { readonly db: 'carries no store of sessions' }

/** The procedure builder that it was made of, with the context of actions. */
export type AuthedAction<Procedure, Definition extends AuthDefinition> =
  Procedure extends TRPCProcedureBuilder<
    infer Context,
    infer Meta,
    infer Overrides,
    infer InputIn,
    infer InputOut,
    infer OutputIn,
    infer OutputOut,
    false
  >
    ? TRPCProcedureBuilder<
        Without<Context, 'db' | keyof ActionMembers<Definition>>,
        Meta,
        Without<Overrides, 'db' | keyof ActionMembers<Definition>> & ActionMembers<Definition>,
        InputIn,
        InputOut,
        OutputIn,
        OutputOut,
        false
      >
    : never

/** Unlike `Omit`, for any names. */
type Without<Members, Names> = {
  [Name in keyof Members as Name extends Names ? never : Name]: Members[Name]
}

/** The runner of all actions, or a function that finds it in the context if several processes load the module. */
export type RunnerOf<Procedure> = Runner | ((ctx: ContextOf<Procedure>) => Runner)

type ContextOf<Procedure> =
  Procedure extends TRPCProcedureBuilder<
    infer Context,
    infer _Meta,
    infer Overrides,
    infer _InputIn,
    infer _InputOut,
    infer _OutputIn,
    infer _OutputOut,
    false
  >
    ? Without<Context, keyof Overrides> & Overrides
    : never

/**
 * Creates the builder of authenticated actions: procedures that call the outside world, and reach the database only by
 * internal functions. Both steps run before an action. An error of an auth endpoint keeps its code. Only the module
 * that calls this may import `getAuth`, because it carries the whole definition.
 *
 * @example
 * export const authedAction = createAuthedAction(t.procedure, getAuth, runner)
 * authedAction.mutation(async ({ ctx }) => {
 *   const rates = await fetchRates(ctx.auth.signal)
 *   return ctx.runMutation(internal.report.save, { rates })
 * })
 */
export function createAuthedAction<Procedure extends ActionProcedure, Definition extends AuthDefinition>(
  procedure: Procedure & WithUsableDatabase<Procedure>,
  getAuth: GetAuth<Definition>,
  runner: RunnerOf<Procedure>,
): AuthedAction<Procedure, Definition>
export function createAuthedAction(
  procedure: TRPCProcedureBuilder<ActionSource, object, object, unknown, unknown, unknown, unknown, false>,
  getAuth: GetAuth<AuthDefinition>,
  runner: Runner | ((ctx: ActionSource) => Runner),
): object {
  const runnerOf = typeof runner === 'function' ? runner : () => runner
  return procedure.use(authErrorMiddleware).use(authorizeAction(getAuth, runnerOf))
}

/** Runs both steps, removes the database from the context, and adds `auth.api`, `runQuery`, and `runMutation`. */
function authorizeAction(
  getAuth: GetAuth<AuthDefinition>,
  runnerOf: (ctx: ActionSource) => Runner | undefined,
): Middleware<ActionSource, SessionContext & FunctionContext & { readonly db: undefined }> {
  const guard: ReturnType<typeof authorizeAction> = async (call) => {
    const { ctx, type, signal } = call
    const auth = handleOf(call)
    const { read, runner } = await orReject(call, authenticate(ctx, auth[authRequest], runnerOf))
    const { identity: actor, session } = read
    auth[callLease].begin(read)
    // The server may call a mutation for a request that came by GET.
    const isQuery = type === 'query' || (type === 'mutation' && ctx.auth[authRequest].isGet)
    const functions = bindRunner(runner, { actor, signal, isQuery })
    // The endpoints are bound on first use.
    Object.defineProperty(auth, 'api', { get: () => getAuth({ auth, ...functions }).api, enumerable: true })
    return runAuthorized(call, { auth, session, added: { db: undefined, ...functions } })
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
