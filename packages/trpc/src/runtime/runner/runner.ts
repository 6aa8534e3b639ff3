import type { Identity } from '@sallyport/core'
import type { FunctionReference } from './function-reference.ts'

export type FunctionType = 'query' | 'mutation'

/** One call of an internal function. */
export interface RunnerCall {
  readonly type: FunctionType
  /** Such as `report.save`. Paths that begin with `sallyport.` are ours. */
  readonly path: string
  /** Crosses as JSON, wherever the function runs. */
  readonly input: unknown
  /** The acting user, or null without one. Step 2 runs for them again where the function runs. */
  readonly actor: Identity | null
  /** Names one call of a mutation, so it may be sent again. Of a user's calls with one key, one runs, and the others get its result. */
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
  /** Calls an internal query. */
  readonly runQuery: RunQuery
  /** Calls an internal mutation. Not available in a tRPC query. */
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

export interface MutationOptions {
  /** See {@link RunnerCall.idempotencyKey}. Without one, a mutation is never sent again. */
  readonly idempotencyKey?: string | undefined
}
