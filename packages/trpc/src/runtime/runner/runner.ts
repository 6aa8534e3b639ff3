import type { Identity } from '@sallyport/core'
import { writeInQuery } from '../writes.ts'
import { type FunctionReference, functionPath } from './function-reference.ts'

export interface RunnerCall {
  readonly type: 'query' | 'mutation'
  /** Such as `report.save`. Paths that begin with `sallyport.` are ours. */
  readonly path: string
  /** Crosses as JSON, wherever the function runs. */
  readonly input: unknown
  /** The acting user, or null without one. Step 2 runs for them again where the function runs. */
  readonly actor: Identity | null
  /**
   * Names one call of a mutation, so it may be sent again. Of a user's calls with one key, one runs, and the others get
   * its result. Without a key, a mutation is never sent again.
   */
  readonly idempotencyKey?: string | undefined
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal | undefined
}

/** Calls internal functions in this process, or in the one with the database. */
export interface Runner {
  /**
   * Returns the result of the function, as parsed from JSON.
   *
   * @throws AuthError if Step 2 or the function rejects the acting user; `SESSIONS_UNAVAILABLE` if the outcome is unknown
   * @throws EndpointError of an auth endpoint
   * @throws ConfigurationError if the function doesn't exist
   * @throws TRPCError of the function, with its code and message
   */
  run(call: RunnerCall): Promise<unknown>
}

/** The access to internal functions, which a context has in place of a database. */
export interface FunctionContext {
  readonly runQuery: RunQuery
  /** Not available in a tRPC query. */
  readonly runMutation: RunMutation
}

export type RunQuery = <Input, Output>(
  reference: FunctionReference<'query', Input, Output>,
  ...input: undefined extends Input ? [input?: NoInfer<Input>] : [input: NoInfer<Input>]
) => Promise<Output>

export type RunMutation = <Input, Output>(
  reference: FunctionReference<'mutation', Input, Output>,
  ...rest: undefined extends Input
    ? [input?: NoInfer<Input>, options?: MutationOptions]
    : [input: NoInfer<Input>, options?: MutationOptions]
) => Promise<Output>

export type MutationOptions = Pick<RunnerCall, 'idempotencyKey'>

export interface RunnerBinding extends Partial<Pick<RunnerCall, 'actor' | 'signal'>> {
  /** Whether the current call is a tRPC query, which must not write. @default false */
  readonly isQuery?: boolean
}

/**
 * Returns `runQuery` and `runMutation` for a context without a database. An action has them already.
 *
 * @example
 * const context = { ...createAuthContext(authConfig).headers(req.headers, { method: req.method }), ...bindRunner(runner) }
 * const { session } = await getAuth(context).api.getSession()
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

type HasPath = { readonly [functionPath]: string }
