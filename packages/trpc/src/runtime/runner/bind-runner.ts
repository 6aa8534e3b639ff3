import type { Identity } from '@sallyport/core'
import { writeInQuery } from '../writes.ts'
import { functionPath } from './function-reference.ts'
import type { FunctionContext, Runner } from './runner.ts'

export interface RunnerBinding {
  /** The acting user, or null without one. @default null */
  readonly actor?: Identity | null
  /** Ends the wait for responses. */
  readonly signal?: AbortSignal | undefined
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
