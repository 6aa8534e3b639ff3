import { getAuth } from '../get-auth.ts'
import { protectedProcedure, router } from '../procedures.ts'

export const sessionsRouter = router({
  /** The devices of the caller, as the auth endpoint tells them. */
  list: protectedProcedure.query(({ ctx }) => getAuth(ctx).api.listSessions()),
})
