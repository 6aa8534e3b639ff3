import { authStore } from '@sallyport/core/internal/server'
import { sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import type { BetterAuthOptions } from 'better-auth'
import { admin, bearer } from 'better-auth/plugins'
import SqliteDatabase from 'better-sqlite3'
import { vi } from 'vitest'
import { CookieJar } from './cookie-jar.ts'
import { createAuth, createTrpc, ORIGIN, PASSWORD } from './create-auth.ts'

type Options = Pick<BetterAuthOptions, 'user' | 'session' | 'account' | 'verification' | 'advanced'>

const ADA = 'ada@example.com'

/** Opens an app with a browser's cookies. */
export async function openApp(options: Options = {}, database = new SqliteDatabase(':memory:')) {
  const { auth } = await createAuth({ ...options, plugins: [admin(), bearer()] }, database)
  const guard = betterAuthGuard(auth)
  const { t, createContext } = createTrpc(guard, database)
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email),
    live: t.procedure.use(sessionMiddleware).subscription(async function* () {
      yield 1
    }),
    signOut: t.procedure.use(sessionMiddleware).mutation(({ ctx }) => guard.getAuth(ctx).api.signOut()),
    changePassword: t.procedure.mutation(({ ctx }) =>
      guard.getAuth(ctx).api.changePassword({
        body: { currentPassword: PASSWORD, newPassword: 'another password', revokeOtherSessions: true },
      }),
    ),
    unban: t.procedure.mutation(({ ctx }) => guard.getAuth(ctx).api.unbanUser({ body: { userId: 'any' } })),
    signedIn: t.procedure.query(async ({ ctx }) => {
      const { api } = guard.getAuth(ctx)
      const found = await api.getSession()
      return found?.user.email ?? null
    }),
    sensitive: t.procedure
      .use(sensitiveSessionMiddleware)
      .query(({ ctx: { session, user } }) => ({ email: user.email, expiresAt: session.expiresAt.getTime() })),
  })
  const responds = (path: string, headers: Record<string, string>, method = 'GET') =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req: new Request(`${ORIGIN}/trpc/${path}`, {
        method,
        headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers },
        ...(method === 'POST' && { body: '{}' }),
      }),
      router,
      createContext,
      responseMeta: guard.responseMeta,
    })
  const jar = new CookieJar()
  const { getSession: renew } = auth.api
  return {
    auth,
    renew,
    database,
    guard,
    store: guard.attach(database)[authStore],
    jar,
    responds,
    handlerOptions: { config: guard.config, router, createContext },
    async call(path = 'me', headers: Record<string, string> = {}, method?: string) {
      const response = await responds(path, { cookie: String(jar), ...headers }, method)
      jar.receive(response.headers)
      return response
    },
    renewals: vi.spyOn(auth.api, 'getSession'),
    async signIn({ rememberMe = true, email = ADA } = {}) {
      const { headers, response } = await auth.api.signInEmail({
        body: { email, password: PASSWORD, rememberMe },
        returnHeaders: true,
      })
      jar.receive(headers)
      return { headers, response }
    },
    signUp: (email = ADA) => auth.api.signUpEmail({ body: { name: 'Ada', email, password: PASSWORD } }),
  }
}
