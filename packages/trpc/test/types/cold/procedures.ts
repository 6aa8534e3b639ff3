import type { DatabaseContext } from '@sallyport/trpc'
import { createAuthedAction } from '@sallyport/trpc/action'
import type { Runner } from '@sallyport/trpc/runtime'
import { initTRPC } from '@trpc/server'
import type { Kysely } from 'kysely'
import { type Auth, getAuth } from './generated/auth.ts'
import { type AuthTables, authColumns } from './generated/database.ts'
import {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  type Session,
  type SessionContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
  type User,
} from './generated/session.ts'

declare const runner: Runner
declare const db: Kysely<AuthTables>

const t = initTRPC.context<DatabaseContext>().create()

/** Before there is an auth definition, procedures are built of the same names. */
export const router = t.router({
  guarded: t.procedure.use(sessionMiddleware).query(() => 1),
  optional: t.procedure.use(optionalSessionMiddleware).query(() => 2),
  sensitive: t.procedure.use(sensitiveSessionMiddleware).mutation(() => 3),
  recent: t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 60 })).mutation(() => 4),
  asked: t.procedure.query(async ({ ctx }) => (await getSession(ctx)).user.locale),
  changes: t.procedure.mutation(async ({ ctx }) => getAuth(ctx).api.revokeOtherSessions()),
  action: createAuthedAction(t.procedure, getAuth, runner).mutation(({ ctx }) => ctx.session.userId),
})

/** So are types, each of which is anything. */
export function use(auth: Auth, session: Session, user: User, context: SessionContext): unknown[] {
  const query = db.selectFrom('user').select('locale')
  return [auth.api.addNote, session.theme, user.locale, context.session, authColumns.user, query]
}

// @ts-expect-error their arguments are checked all the same
createSensitiveSessionMiddleware({})
// @ts-expect-error
getSession()
