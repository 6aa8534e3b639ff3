import { changesOf, changesOfEveryone } from '../live.ts'
import { adminProcedure, protectedProcedure, router } from '../procedures.ts'

/**
 * Streams the topics that pages must fetch again. They end with the session, which signs the page out at
 * once.
 */
export const liveRouter = router({
  mine: protectedProcedure.subscription(({ ctx }) => changesOf(ctx.session.userId, ctx.auth.signal)),
  everyone: adminProcedure.subscription(({ ctx }) => changesOfEveryone(ctx.auth.signal)),
})
