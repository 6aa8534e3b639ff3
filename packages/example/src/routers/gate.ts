import { authConfig } from '../auth.config.ts'
import { isProduction } from '../env.ts'
import { look } from '../gate/look.ts'
import { publicProcedure, router } from '../procedures.ts'

export const gateRouter = router({
  /** What the doors say to the caller, whoever that is, and whether the scenarios can be played here. */
  look: publicProcedure.query(async ({ ctx }) => ({
    ...(await look(ctx.cookie, { config: authConfig, db: ctx.db })),
    hasScenarios: !isProduction,
  })),
})
