import { changesOf, changesOfEveryone } from '../live.ts'
import { adminProcedure, protectedProcedure, router } from '../procedures.ts'

/** Tells pages what to fetch again. The streams end with the session, and so the page hears of that, too. */
export const liveRouter = router({
  mine: protectedProcedure.subscription(({ ctx }) => changesOf(ctx.session.userId, ctx.auth.signal)),
  everyone: adminProcedure.subscription(({ ctx }) => changesOfEveryone(ctx.auth.signal)),
})
