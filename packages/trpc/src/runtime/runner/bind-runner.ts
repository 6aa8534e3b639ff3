import type { Identity } from '@sallyport/core'
import type { FunctionContext } from '../runtime-context.ts'
import { writeInQuery } from '../writes.ts'
import { functionPath, type Runner } from './runner.ts'

/** For which call {@link bindRunner} makes its functions. */
export interface RunnerBinding {
  /** On whose behalf they run; null is nobody. @default null */
  readonly actor?: Identity | null
  /** Ends the wait for their answers. */
  readonly signal?: AbortSignal | undefined
  /** Whether the call is a tRPC query, which writes nothing. @default false */
  readonly isQuery?: boolean
}

/**
 * What a context without a database needs to reach one: `ctx.runQuery` and `ctx.runMutation`. An action has them already.
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
    async runQuery<Output>(reference: { readonly [functionPath]: string }, input?: unknown) {
      const path = reference[functionPath]
      return (await runner.run({ type: 'query', path, input, actor, signal })) as Output
    },
    async runMutation<Output>(
      reference: { readonly [functionPath]: string },
      input?: unknown,
      { idempotencyKey }: { readonly idempotencyKey?: string | undefined } = {},
    ) {
      const path = reference[functionPath]
      if (isQuery) throw writeInQuery(`ctx.runMutation of ${path}`)
      return (await runner.run({ type: 'mutation', path, input, actor, signal, idempotencyKey })) as Output
    },
  }
}
