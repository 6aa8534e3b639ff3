import type { AuthDatabase } from '@sallyport/core'
import type { AuthContext } from '../server/context.ts'
import type { RunMutation, RunQuery } from './runner/runner.ts'

/** What a context has in place of a database: the way to the internal functions. */
export interface FunctionContext {
  /** Calls an internal function that reads. */
  readonly runQuery: RunQuery
  /** Calls an internal function that may write. A tRPC query may not. */
  readonly runMutation: RunMutation
}

/** A context as `getAuth` takes it: with a database or with the way to one, never with both (spec section 1). */
export type RuntimeContext = AuthContext &
  (
    | { readonly db: AuthDatabase; readonly runQuery?: undefined; readonly runMutation?: undefined }
    | (FunctionContext & { readonly db?: undefined })
  )
