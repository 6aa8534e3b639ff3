import { authConfig } from '../auth.config.ts'
import { isProduction } from '../env.ts'
import { look } from '../gate/look.ts'
import { publicProcedure, router } from '../procedures.ts'

export const gateRouter = router({
  /** The result of both steps for the caller, and whether the scenarios are available. */
  look: publicProcedure.query(async ({ ctx }) => ({
    ...(await look(ctx.cookie, { config: authConfig, db: ctx.db })),
    hasScenarios: !isProduction,
  })),
})
