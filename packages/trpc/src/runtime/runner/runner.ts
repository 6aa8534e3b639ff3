import type { Identity } from '@sallyport/core'

/** What an internal function does: a query reads, a mutation may write. */
export type FunctionType = 'query' | 'mutation'

/** One call of an internal function. */
export interface RunnerCall {
  readonly type: FunctionType
  /** Such as `report.save`; what begins with `sallyport.` is ours. */
  readonly path: string
  /** Crosses as JSON, wherever the function runs. */
  readonly input: unknown
  /** On whose behalf: their session is read again where the function runs. Null is nobody. */
  readonly actor: Identity | null
  /**
   * Names one call of a mutation, so that it may be sent again: of all calls of this user with this key one is executed, and the others
   * get its result.
   */
  readonly idempotencyKey?: string | undefined
  /** Ends the wait for the answer, not the function. */
  readonly signal?: AbortSignal | undefined
}

/** Calls internal functions: in this process, or where the database is. */
export interface Runner {
  /**
   * The result of the function, as it comes out of JSON.
   *
   * @throws AuthError where Step 2 or the function refused the acting user; `SESSIONS_UNAVAILABLE` where the answer is unknown
   * @throws EndpointError of an auth endpoint
   * @throws ConfigurationError where there is no such function
   * @throws TRPCError of the function, with its code and message
   */
  run(call: RunnerCall): Promise<unknown>
}

/** An internal function by its path; see `functionsOf`. */
export interface FunctionReference<Type extends FunctionType, Input, Output> {
  /** @internal */
  readonly [functionPath]: string
  /** For the types alone; never there. */
  readonly types?: { readonly type: Type; readonly input: Input; readonly output: Output } | undefined
}

/** Where a {@link FunctionReference} keeps its path. */
export const functionPath: unique symbol = Symbol.for('sallyport.functionPath') as never

/** `ctx.runQuery` of an action. */
export type RunQuery = <Input, Output>(
  reference: FunctionReference<'query', Input, Output>,
  ...input: undefined extends Input ? [input?: NoInfer<Input>] : [input: NoInfer<Input>]
) => Promise<Output>

/** `ctx.runMutation` of an action. */
export type RunMutation = <Input, Output>(
  reference: FunctionReference<'mutation', Input, Output>,
  ...rest: undefined extends Input
    ? [input?: NoInfer<Input>, options?: MutationOptions]
    : [input: NoInfer<Input>, options?: MutationOptions]
) => Promise<Output>

/** What {@link RunMutation} takes besides. */
export interface MutationOptions {
  /** See {@link RunnerCall.idempotencyKey}. Without one a mutation is never sent again. */
  readonly idempotencyKey?: string | undefined
}
