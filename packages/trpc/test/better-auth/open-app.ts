import { authStore } from '@sallyport/core/internal/server'
import {
  authErrorData,
  type HttpContextOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin, bearer } from 'better-auth/plugins'
import SqliteDatabase from 'better-sqlite3'
import { vi } from 'vitest'
import { CookieJar } from './cookie-jar.ts'

const ORIGIN = 'http://localhost:3000'
const ada = { email: 'ada@example.com', password: 'a long enough password' }

/** Opens an app with a browser's cookies. Passwords aren't hashed. */
export async function openApp(session: BetterAuthOptions['session'] = {}) {
  const database = new SqliteDatabase(':memory:')
  const options = {
    baseURL: ORIGIN,
    secret: 'a-secret-of-at-least-32-characters-for-tests',
    database,
    emailAndPassword: {
      enabled: true,
      // Its own takes a tenth of a second.
      password: {
        hash: async (password: string) => password,
        verify: async (given: { hash: string; password: string }) => given.hash === given.password,
      },
    },
    session,
    plugins: [admin(), bearer()],
  }
  const auth = betterAuth(options)
  await (await getMigrations(options)).runMigrations()
  const guard = betterAuthGuard(auth)
  const createContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
  const t = initTRPC.context<ReturnType<typeof createContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email),
    live: t.procedure.use(sessionMiddleware).subscription(async function* () {
      yield 1
    }),
    signOut: t.procedure.use(sessionMiddleware).mutation(({ ctx }) => guard.getAuth(ctx).api.signOut()),
    changePassword: t.procedure.mutation(({ ctx }) =>
      guard.getAuth(ctx).api.changePassword({
        body: { currentPassword: ada.password, newPassword: 'another password', revokeOtherSessions: true },
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
      .query(({ ctx }) => ctx.session.expiresAt.getTime()),
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
    async signIn(rememberMe = true) {
      const { headers, response } = await auth.api.signInEmail({
        body: { ...ada, rememberMe },
        returnHeaders: true,
      })
      jar.receive(headers)
      return { headers, response }
    },
    signUp: () => auth.api.signUpEmail({ body: { name: 'Ada', ...ada } }),
  }
}
