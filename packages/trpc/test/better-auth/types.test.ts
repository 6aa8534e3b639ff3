import { bindSession } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { betterAuth } from 'better-auth'
import { admin, customSession } from 'better-auth/plugins'
import { expectTypeOf, test } from 'vitest'
import { protectedProcedure, publicProcedure } from './app/procedures.ts'

test('ctx.session and ctx.user have our members, and the ones that $Infer adds', () => {
  protectedProcedure.query(({ ctx: { session, user } }) => {
    expectTypeOf(session.id).toEqualTypeOf<string>()
    expectTypeOf(session.userId).toEqualTypeOf<string>()
    expectTypeOf(session.expiresAt).toEqualTypeOf<Date>()
    expectTypeOf(session.createdAt).toEqualTypeOf<Date>()
    expectTypeOf(session.theme).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(session.impersonatedBy).toEqualTypeOf<string | null>()
    expectTypeOf(session.activeOrganizationId).toEqualTypeOf<string | null>()
    expectTypeOf(session.activeOrganizationRole).toEqualTypeOf<string | null>()
    expectTypeOf(session.user.email).toEqualTypeOf<string>()
    expectTypeOf(user.role).toEqualTypeOf<string>()
    expectTypeOf(user.locale).toEqualTypeOf<string>()
    expectTypeOf(user.emailVerified).toEqualTypeOf<boolean>()
    expectTypeOf(user.image).toEqualTypeOf<string | null | undefined>()
    // @ts-expect-error the token is a credential
    return session.token
  })
  publicProcedure.query(({ ctx: { session, user } }) => {
    expectTypeOf(session?.impersonatedBy).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(user?.locale).toEqualTypeOf<string | undefined>()
  })
})

test('without plugins, their columns do not exist', () => {
  const plain = betterAuthGuard(betterAuth({ secret: 'a-secret-of-at-least-32-characters-for-tests' }))
  const { sessionMiddleware } = bindSession<typeof plain>()
  const t = initTRPC
    .context<ReturnType<typeof plain.http> & { db: ReturnType<typeof plain.attach> }>()
    .create()
  t.procedure.use(sessionMiddleware).query(({ ctx: { session, user } }) => {
    expectTypeOf(user.role).toEqualTypeOf<string>()
    expectTypeOf(session.ipAddress).toEqualTypeOf<string | null | undefined>()
    // @ts-expect-error organization() is not installed
    session.activeOrganizationRole
    // @ts-expect-error admin() is not installed
    return session.impersonatedBy
  })
})

test('what customSession adds to responses, or omits, changes no types', () => {
  const auth = betterAuth({
    secret: 'a-secret-of-at-least-32-characters-for-tests',
    plugins: [admin(), customSession(async ({ user }) => ({ user: { ...user, teams: ['a'] }, flags: {} }))],
  })
  const guard = betterAuthGuard(auth)
  const { sessionMiddleware } = bindSession<typeof guard>()
  const t = initTRPC
    .context<ReturnType<typeof guard.http> & { db: ReturnType<typeof guard.attach> }>()
    .create()
  t.procedure.use(sessionMiddleware).query(({ ctx: { session, user } }) => {
    expectTypeOf(session.createdAt).toEqualTypeOf<Date>()
    expectTypeOf(session.impersonatedBy).toEqualTypeOf<string | null>()
    expectTypeOf(user.banned).toEqualTypeOf<boolean | null | undefined>()
    // @ts-expect-error only Better Auth's getSession() returns it
    return user.teams
  })
})
