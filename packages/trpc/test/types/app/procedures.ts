import type { AuthDatabase, Identity } from '@sallyport/core'
import { type AuthContext, authErrorData, requireRole } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { holds, type Same } from './same.ts'
import {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  type Session,
  type SessionContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
  type User,
} from './session.ts'

export interface Context extends AuthContext {
  readonly db: AuthDatabase
  readonly requestId: string
}

export const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, ...options }) => ({
    ...shape,
    data: { ...shape.data, auth: authErrorData(options) },
  }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

export const router = t.router({
  columns: protectedProcedure.query(({ ctx: { session, user, requestId, identity } }) => {
    holds<Same<typeof user.locale, 'en' | 'de'>>()
    holds<Same<typeof user.credits, number>>()
    holds<Same<typeof session.user.credits, number>>()
    holds<Same<typeof session.theme, string | null>>()
    holds<Same<typeof session.impersonatedBy, string | null>>()
    holds<Same<typeof session.activeOrganizationId, string | null>>()
    holds<Same<typeof session.expiresAt, Date>>()
    holds<Same<typeof requestId, string>>()
    holds<Same<typeof identity, Identity>>()
    // @ts-expect-error no plugin adds it
    void user.nickname
    // @ts-expect-error it is a column of the user
    void session.locale
    // @ts-expect-error nobody writes to a session that was read
    session.theme = 'dark'
    return { locale: user.locale, theme: session.theme }
  }),
  given: protectedProcedure.query(({ ctx }) => {
    const given: SessionContext = ctx
    holds<Same<SessionContext['user'], User>>()
    return given.user.locale
  }),
  signal: protectedProcedure.query(({ ctx }) => {
    holds<Same<typeof ctx.auth.signal, AbortSignal>>()
    // @ts-expect-error the endpoints are for actions
    void ctx.auth.api
    return null
  }),
  optional: t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => {
    holds<Same<typeof ctx.user, User | null>>()
    holds<Same<typeof ctx.session, Session | null>>()
    // @ts-expect-error there may be nobody
    void ctx.user.locale
    return ctx.user?.locale ?? null
  }),
  sensitive: t.procedure.use(sensitiveSessionMiddleware).mutation(async ({ ctx }) => {
    holds<Same<typeof ctx.user.locale, 'en' | 'de'>>()
    return ctx.transaction(async () => ctx.session.theme)
  }),
  recent: t.procedure
    .use(createSensitiveSessionMiddleware({ maxAge: 60 }))
    .mutation(({ ctx }) => ctx.user.credits),
  ofAdmins: protectedProcedure.use(requireRole('admin')).query(({ ctx }) => {
    holds<Same<typeof ctx.user.credits, number>>()
    return ctx.user.credits
  }),
  asked: t.procedure.query(async ({ ctx }) => {
    const session = await getSession(ctx)
    holds<Same<typeof session, Session>>()
    return session.user.locale
  }),
})

// @ts-expect-error a role is asked of somebody: without a session middleware there is nobody
t.procedure.use(requireRole('admin'))
