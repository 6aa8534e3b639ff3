import { ConfigurationError, type Identity } from '@sallyport/core'
import type { Endpoint } from '@sallyport/core/auth'
import type {
  AnyTRPCMutationProcedure,
  AnyTRPCQueryProcedure,
  AnyTRPCRouter,
  inferProcedureInput,
  inferTransformedProcedureOutput,
  TRPCRouterRecord,
} from '@trpc/server'

/** A call of an internal function. */
export interface RunnerCall {
  readonly type: 'query' | 'mutation'
  /** Such as `report.save`. Paths that begin with `sallyport.` are reserved. */
  readonly path: string
  /** Sent as JSON, even within one process. */
  readonly input: unknown
  /** The acting user, or null without one. Step 2 runs for them again where the function runs. */
  readonly actor: Identity | null
  /**
   * Names one call of a mutation, so it may be sent again. Of a user's calls with one key, one runs, and the
   * others get its result. Without a key, a mutation is never sent again.
   */
  readonly idempotencyKey?: string | undefined
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal | undefined
}

/** Calls internal functions, in this process or the one with the database. */
export interface Runner {
  /**
   * Returns the result of the function, as parsed from JSON.
   *
   * @throws AuthError if the user is rejected; with `SESSIONS_UNAVAILABLE` if the outcome is unknown
   * @throws EndpointError of an auth endpoint
   * @throws ConfigurationError if the function doesn't exist
   * @throws TRPCError of the function, with its code and message
   */
  run(call: RunnerCall): Promise<unknown>
}

/** The access to internal functions that a context has instead of a database. */
export interface FunctionContext {
  readonly runQuery: RunQuery
  /** Not available in a tRPC query or another GET request, such as server-sent events. */
  readonly runMutation: RunMutation
}

/** Calls an internal query and returns its result. */
export type RunQuery = <Input, Output>(
  reference: FunctionReference<'query', Input, Output>,
  ...input: undefined extends Input ? [input?: NoInfer<Input>] : [input: NoInfer<Input>]
) => Promise<Output>

/** Calls an internal mutation and returns its result. */
export type RunMutation = <Input, Output>(
  reference: FunctionReference<'mutation', Input, Output>,
  ...rest: undefined extends Input
    ? [input?: NoInfer<Input>, options?: MutationOptions]
    : [input: NoInfer<Input>, options?: MutationOptions]
) => Promise<Output>

export type MutationOptions = Pick<RunnerCall, 'idempotencyKey'>

/** Options of {@link bindRunner}: the call that the functions belong to. */
export interface RunnerBinding extends Partial<Pick<RunnerCall, 'actor' | 'signal'>> {
  /** Whether the current call is a tRPC query or came by GET, so `runMutation` throws. @default false */
  readonly isQuery?: boolean
}

/**
 * Returns `runQuery` and `runMutation` for a context without a database. An action has them already.
 *
 * @example
 * const auth = createAuthContext(authConfig).headers(req.headers, { method: req.method })
 * const { session } = await getAuth({ ...auth, ...bindRunner(runner) }).api.getSession()
 */
export function bindRunner(
  runner: Runner,
  { actor = null, signal, isQuery = false }: RunnerBinding = {},
): FunctionContext {
  return {
    async runQuery<Output>({ [functionPath]: path }: HasPath, input?: unknown) {
      return (await runner.run({ type: 'query', path, input, actor, signal })) as Output
    },
    async runMutation<Output>(
      { [functionPath]: path }: HasPath,
      input?: unknown,
      { idempotencyKey }: MutationOptions = {},
    ) {
      if (isQuery) throw writeInQuery(`ctx.runMutation of ${path}`)
      return (await runner.run({ type: 'mutation', path, input, actor, signal, idempotencyKey })) as Output
    },
  }
}

/** Returns whether an endpoint writes. The token endpoint is a GET that extends the session. */
export function writes({ method, origin }: Pick<Endpoint, 'method' | 'origin'>): boolean {
  return method === 'POST' || origin === 'token'
}

/** Returns the error of a query that writes. Its GET may be prefetched, sent twice, and cached. */
export function writeInQuery(subject: string): ConfigurationError {
  const message = `${subject} writes, and this call is a query or came by GET: make it a mutation`
  return new ConfigurationError(message, { code: 'WRITE_IN_QUERY' })
}

type HasPath = { readonly [functionPath]: string }

/** The key of the path in a {@link FunctionReference}. */
export const functionPath: unique symbol = Symbol.for('sallyport.functionPath') as never

/** An internal function by its path. */
export interface FunctionReference<Type extends 'query' | 'mutation', Input, Output> {
  /** @internal */
  readonly [functionPath]: string
  /** For the types only. Always undefined. */
  readonly types?: { readonly type: Type; readonly input: Input; readonly output: Output } | undefined
}

/** The references to the functions of a router, by name. */
export type FunctionsOf<Router extends AnyTRPCRouter> = ReferencesOf<Router['_def']['record']>

type ReferencesOf<Record extends TRPCRouterRecord> = {
  readonly [Name in keyof Record]: Record[Name] extends AnyTRPCQueryProcedure | AnyTRPCMutationProcedure
    ? ReferenceTo<Record[Name]>
    : Record[Name] extends TRPCRouterRecord
      ? ReferencesOf<Record[Name]>
      : never
}

/** Results are sent as JSON, so a `Date` becomes text. */
type ReferenceTo<Procedure extends AnyTRPCQueryProcedure | AnyTRPCMutationProcedure> = FunctionReference<
  Procedure['_def']['type'],
  inferProcedureInput<Procedure>,
  inferTransformedProcedureOutput<{ transformer: false; errorShape: unknown }, Procedure>
>

/**
 * Returns references to the functions of a router. Import only the type of the router.
 *
 * @example
 * const internal = functionsOf<InternalRouter>()
 * await ctx.runMutation(internal.report.save, { title }, { idempotencyKey })
 */
export function functionsOf<Router extends AnyTRPCRouter>(): FunctionsOf<Router> {
  return referenceTo('') as FunctionsOf<Router>
}

function referenceTo(path: string): object {
  return new Proxy(Object.freeze({}), {
    get(_target, name) {
      if (name === functionPath) return path
      // Awaiting or printing a reference must not create another.
      if (typeof name === 'symbol' || name === 'then') return undefined
      return referenceTo(path === '' ? name : `${path}.${name}`)
    },
  })
}
