import { authConfig } from '../auth.config.ts'
import { isProduction } from '../env.ts'
import { inspectCookies } from '../gate/inspect-cookies.ts'
import { publicProcedure, router } from '../procedures.ts'

export const gateRouter = router({
  /** Returns the results of both steps for the caller, and whether the scenarios are available. */
  inspect: publicProcedure.query(async ({ ctx }) => ({
    ...(await inspectCookies(ctx.cookie, { config: authConfig, db: ctx.db })),
    hasScenarios: !isProduction,
  })),
})
