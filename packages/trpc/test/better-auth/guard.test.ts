import { authErrorData, type HttpContextOptions, sessionMiddleware } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'

test('a signed-in user calls a protected procedure, and a signed-out one gets SESSION_NOT_FOUND', async () => {
  const database = new SqliteDatabase(':memory:')
  const options = {
    baseURL: 'http://localhost:3000',
    secret: 'a-secret-of-at-least-32-characters-for-tests',
    database,
    emailAndPassword: { enabled: true },
  }
  const auth = betterAuth(options)
  await (await getMigrations(options)).runMigrations()
  const guard = betterAuthGuard(auth)
  const createContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
  const t = initTRPC.context<ReturnType<typeof createContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  const router = t.router({ me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email) })
  const call = async (cookie: string) => {
    const req = new Request('http://localhost:3000/trpc/me', {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    })
    const response = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext })
    return response.json()
  }

  const { headers } = await auth.api.signUpEmail({
    body: { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' },
    returnHeaders: true,
  })
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  expect(await call(cookie)).toMatchObject({ result: { data: 'ada@example.com' } })
  await auth.api.signOut({ headers: new Headers({ cookie }) })
  expect(await call(cookie)).toMatchObject({ error: { data: { auth: { reason: 'SESSION_NOT_FOUND' } } } })
})
