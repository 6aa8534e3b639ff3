import { type AuthDatabase, ConfigurationError, type Identity } from '@sallyport/core'
import type { AuthDefinition, SessionOf, UserOf } from '@sallyport/core/auth'
import type { TRPCProcedureBuilder } from '@trpc/server'
import type { BoundAuth, GetAuth } from '../runtime/get-auth.ts'
import { bindRunner, type FunctionContext, type Runner } from '../runtime/runner/runner.ts'
import { selectStore } from '../runtime/select-adapter.ts'
import { type AuthHandle, authCall, authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'
import { authErrorMiddleware } from '../server/errors.ts'
import type { AuthorizedHandle, SessionContext } from '../server/guard.ts'
import { guardCall, markGuard } from '../server/guard.ts'
import type { Hint, Middleware } from '../server/middleware.ts'
import type { SessionRead } from '../server/session-read.ts'

interface ActionSource extends AuthContext {
  readonly db?: AuthDatabase | undefined
}

/** The members that an action adds to the context of the app. The action removes `db`. */
export interface ActionMembers<Definition extends AuthDefinition> extends FunctionContext {
  readonly auth: AuthorizedHandle & BoundAuth<Definition>
  readonly identity: Identity
  readonly session: SessionOf<Definition>
  readonly user: UserOf<Definition>
}

/** A procedure builder. Its context must have `auth`, and may have a `db` with an auth store. */
export interface ActionProcedure {
  use(middleware: never): unknown
}

/** A procedure builder with the context of actions instead of the app's. */
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

/** Removes members. Unlike with `Omit`, the names may be of any type. */
type Without<Members, Names> = {
  [Name in keyof Members as Name extends Names ? never : Name]: Members[Name]
}

/** The runner of all actions, or a function that returns it from the context. */
export type RunnerOf<Procedure> = Runner | ((ctx: ContextOf<Procedure>) => Runner)

type ContextOf<Procedure> = Procedure extends {
  query(resolver: (options: { readonly ctx: infer Context }) => never): unknown
}
  ? Context
  : never

/**
 * Creates the builder of authenticated actions: procedures that call other services, and reach the database
 * only through internal functions. Both steps run before an action. An error of an auth endpoint keeps its
 * code. Import `getAuth` only in the module that calls this, because it carries the whole definition.
 *
 * @throws ConfigurationError from a call whose context has no runner, or both `db` and internal functions
 * @example
 * export const authedAction = createAuthedAction(t.procedure, getAuth, runner)
 * authedAction.mutation(async ({ ctx }) => {
 *   const rates = await fetchRates(ctx.auth.signal)
 *   return ctx.runMutation(internal.report.save, { rates })
 * })
 */
export function createAuthedAction<Procedure extends ActionProcedure, Definition extends AuthDefinition>(
  procedure: Procedure & Hint<ContextOf<Procedure>, ActionSource>,
  getAuth: GetAuth<Definition>,
  runner: RunnerOf<Procedure>,
): AuthedAction<Procedure, Definition>
export function createAuthedAction(
  procedure: TRPCProcedureBuilder<ActionSource, object, object, unknown, unknown, unknown, unknown, false>,
  getAuth: GetAuth<AuthDefinition>,
  runner: Runner | ((ctx: ActionSource) => Runner),
): object {
  const runnerOf = typeof runner === 'function' ? runner : () => runner
  const guard: Middleware<ActionSource, SessionContext & FunctionContext> = (call) => {
    const { ctx, type, signal } = call
    let added = {}
    return guardCall(call, {
      async read(_call, auth) {
        const { read, runner } = await authenticate(ctx, auth, runnerOf)
        // Server-sent events come by GET, and the server may call a mutation for one: a link must not write.
        const isQuery = type === 'query' || auth[authCall].isGet
        const functions = bindRunner(runner, { actor: read.identity, signal, isQuery })
        // The endpoints are bound on first use.
        Object.defineProperty(auth, 'api', {
          get: () => getAuth({ auth, ...functions }).api,
          enumerable: true,
        })
        added = { db: undefined, ...functions }
        return read
      },
      add: () => added,
    })
  }
  return procedure.use(authErrorMiddleware).use(markGuard(guard))
}

async function authenticate(
  ctx: ActionSource,
  auth: AuthHandle,
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
  const { [authRequest]: request, [authCall]: call } = auth
  call.store = store
  // A process without a database gets no revocations, so calls don't share a read.
  const method = ctx.db === undefined ? 'authenticateFresh' : 'authenticate'
  return { read: await request[method](store, call.kind), runner }
}
