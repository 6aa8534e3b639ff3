import { functionsOf } from '@sallyport/trpc/action'
import type { internalRouter } from './router.ts'

/** Names the internal functions for `ctx.runQuery` and `ctx.runMutation`. Only their types are imported. */
export const internal = functionsOf<typeof internalRouter>()
