import { authedAction } from '../authed-action.ts'
import { router } from '../procedures.ts'

export const sessionsRouter = router({
  /** Returns the caller's sessions, from the auth endpoint. */
  list: authedAction.query(({ ctx }) => ctx.auth.api.listSessions()),
})
