import { defineAuthConfig, dynamicJwks, staticJwks, withAuthStore } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { openSqliteStore } from '@sallyport/core/sqlite'
import { createAuthContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { jwt } from 'better-auth/plugins'
import { expect, test } from 'vitest'
import { cookieOf, createAuth, ORIGIN, PASSWORD } from './create-auth.ts'

test("a token of Better Auth's jwt plugin passes both steps, until its session ends", async () => {
  const baseUrl = ORIGIN
  const issuer = `${baseUrl}/api/auth`
  const { auth, database } = await createAuth({
    plugins: [jwt({ jwt: { issuer, definePayload: ({ session }) => ({ sessionId: session.id }) } })],
  })

  const own = parseSigningKeys({ keys: [await createSigningKey()] })
  const config = defineAuthConfig({
    baseUrl,
    jwks: staticJwks(JSON.stringify(own.publicJwks)),
    bearer: true,
    trustedIssuers: [
      {
        issuer,
        audience: baseUrl,
        typ: null,
        jwks: dynamicJwks(`${issuer}/jwks`, {
          algorithms: ['EdDSA'],
          fetch: (url, init) => auth.handler(new Request(url, init)),
        }),
        claims: { userId: 'sub', sessionId: 'sessionId' },
      },
    ],
  })
  const session = { columns: { lastAuthenticatedAt: 'createdAt' } }
  const user = { columns: { role: null, banned: null, banExpires: null } }
  const store = await openSqliteStore({ client: database }, { mapping: { session, user, issuer } })
  const context = (token: string) => ({
    ...createAuthContext(config).headers(new Headers({ authorization: `Bearer ${token}` })),
    db: withAuthStore({}, store),
  })
  const t = initTRPC.context<ReturnType<typeof context>>().create()
  const router = t.router({ me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email) })
  const call = (token: string) => router.createCaller(context(token)).me()

  const { headers } = await auth.api.signUpEmail({
    body: { name: 'Ada', email: 'ada@example.com', password: PASSWORD },
    returnHeaders: true,
  })
  const cookie = cookieOf(headers)
  const { token } = await auth.api.getToken({ headers: new Headers({ cookie }) })
  expect(await call(token)).toBe('ada@example.com')
  const [header, payload, signature = ''] = token.split('.')
  const forged = [header, payload, signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))].join('.')
  await expect(call(forged)).rejects.toMatchObject({ cause: { reason: 'TOKEN_INVALID' } })
  await auth.api.signOut({ headers: new Headers({ cookie }) })
  await expect(call(token)).rejects.toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  await store.close()
})
