import { authedAction } from '../authed-action.ts'
import { router } from '../procedures.ts'

export const sessionsRouter = router({
  /** The devices of the caller, as the auth endpoint tells them. */
  list: authedAction.query(({ ctx }) => ctx.auth.api.listSessions()),
})
