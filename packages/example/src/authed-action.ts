import type { AuthDatabase } from '@sallyport/core'
import type { AuthContext } from '@sallyport/trpc'
import type { Runner } from '@sallyport/trpc/action'
import { createAuthedAction } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { errorFormatter } from './error-formatter.ts'
import { getAuth } from './get-auth.ts'

/** The context of actions: that of the backend, or that of the edge. */
export interface ActionContext extends AuthContext {
  readonly db?: AuthDatabase
  readonly runner: Runner
}

// Without `process`, tRPC assumes development and sends stack traces.
const t = initTRPC.context<ActionContext>().create({ errorFormatter, isDev: false })

export const actionRouter = t.router

/**
 * Runs both steps, without a database: `ctx.runQuery`, `ctx.runMutation`, `ctx.auth.api`, `ctx.auth.signal`.
 * The only builder module that imports `getAuth`.
 */
export const authedAction = createAuthedAction(t.procedure, getAuth, ({ runner }) => runner)
