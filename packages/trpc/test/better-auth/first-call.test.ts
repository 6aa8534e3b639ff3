import { sessionMiddleware } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import type { BetterAuthOptions, BetterAuthPlugin } from 'better-auth'
import { getCookies } from 'better-auth/cookies'
import { afterEach, expect, test, vi } from 'vitest'
import { soon } from '../support/soon.ts'
import { cookieOf, createAuth, createTrpc, PASSWORD } from './create-auth.ts'

const ORIGIN = 'https://app.example.com'
const ada = { name: 'Ada', email: 'ada@example.com', password: PASSWORD }
const FOREIGN = { 'sec-fetch-site': 'same-site', origin: 'https://evil.example.com' }
const OWN = { 'sec-fetch-site': 'same-origin', origin: ORIGIN }

afterEach(() => vi.unstubAllEnvs())

/** Opens an app that has served no call yet, so its guard hasn't loaded Better Auth. */
async function openUnloaded(more: Pick<BetterAuthOptions, 'plugins'> = {}) {
  vi.stubEnv('BETTER_AUTH_URL', ORIGIN)
  const user = { deleteUser: { enabled: true } }
  const { auth, database } = await createAuth({ ...more, baseURL: undefined, user })
  const guard = betterAuthGuard(auth)
  const { headers } = await auth.api.signUpEmail({ body: ada, returnHeaders: true })
  const { t, createContext } = createTrpc(guard, database)
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email),
    deleteMe: t.procedure.mutation(({ ctx }) => guard.getAuth(ctx).api.deleteUser({ body: {} })),
    signIn: t.procedure.mutation(({ ctx }) => guard.getAuth(ctx).api.signInEmail({ body: ada })),
    signInByLink: t.procedure.query(({ ctx }) => guard.getAuth(ctx).api.signInEmail({ body: ada })),
  })
  const lookups = vi.spyOn((await auth.$context).internalAdapter, 'findSession')
  return {
    cookie: cookieOf(headers),
    lookups,
    /** Connects a WebSocket, and returns a function that calls `me` over it. */
    connect(sent: Record<string, string>) {
      const { auth } = guard.ws({ req: { headers: sent }, info: { connectionParams: null } })
      return router.createCaller({ auth, db: guard.attach(database) }).me
    },
    count: (table: 'user' | 'session') => database.prepare(`select id from ${table}`).all().length,
    async send(path: 'me' | 'deleteMe' | 'signIn' | 'signInByLink', sent: Record<string, string>) {
      const isQuery = path === 'me' || path === 'signInByLink'
      const req = new Request(`${ORIGIN}/trpc/${path}`, {
        headers: { 'content-type': 'application/json', ...sent },
        ...(!isQuery && { method: 'POST', body: '{}' }),
      })
      const { responseMeta } = guard
      const endpoint = '/trpc'
      const response = await fetchRequestHandler({ endpoint, req, router, createContext, responseMeta })
      const { result, error } = await response.json()
      return { reason: error?.data.auth?.reason, result, cookies: response.headers.getSetCookie().length }
    },
  }
}

const plugin: BetterAuthPlugin = {
  id: 'prefix',
  init: ({ options }) => ({
    context: { authCookies: getCookies({ ...options, advanced: { cookiePrefix: 'acme' } }) },
  }),
}

test.each([
  { way: 'its URL is a variable', plugins: [] },
  { way: 'a plugin renames it', plugins: [plugin] },
])('the first call finds the cookie: $way', async ({ plugins }) => {
  const { send, cookie } = await openUnloaded({ plugins })
  expect(await send('me', { cookie, ...OWN })).toMatchObject({ result: { data: ada.email } })
})

test('the first handshake finds the cookie that a plugin renames', async () => {
  const { connect, cookie, lookups } = await openUnloaded({ plugins: [plugin] })
  const me = connect({ cookie, ...OWN })
  await soon(() => expect(lookups).toHaveBeenCalledOnce())
  expect(await me()).toBe(ada.email)
  expect(lookups).toHaveBeenCalledOnce()
})

test.each([
  { way: 'of another site', reason: 'ORIGIN_REJECTED', name: 'acme', sent: FOREIGN },
  { way: 'with the former name', reason: 'TOKEN_MISSING', name: 'better-auth', sent: OWN },
])('the first handshake proves nothing $way', async ({ reason, name, sent }) => {
  const { connect, cookie, lookups } = await openUnloaded({ plugins: [plugin] })
  const me = connect({ cookie: cookie.replace('acme', name), ...sent })
  await expect(me()).rejects.toMatchObject({ cause: { reason } })
  expect(lookups).not.toHaveBeenCalled()
})

test.each([
  { way: 'with the session cookie', others: '' },
  { way: 'in a browser that names no site', others: '', site: {} },
  { way: 'with another cookie of Better Auth alone', others: '__Secure-better-auth.session_data=any' },
])('the first call of another site changes nothing $way', async ({ others, site = FOREIGN }) => {
  const { send, cookie, count } = await openUnloaded()
  const sent = { cookie: others === '' ? cookie : others, ...site }
  expect(await send('deleteMe', sent)).toMatchObject({ reason: 'ORIGIN_REJECTED' })
  expect(count('user')).toBe(1)
})

test.each(['signIn', 'signInByLink'] as const)('%s by a page of another site is rejected', async (path) => {
  const { send, count } = await openUnloaded()
  expect(await send(path, FOREIGN)).toMatchObject({ reason: 'ORIGIN_REJECTED', cookies: 0 })
  expect(count('session')).toBe(1)
  expect(await send(path, path === 'signIn' ? OWN : { 'sec-fetch-site': 'same-origin' })).toMatchObject({
    reason: undefined,
    cookies: 1,
  })
  expect(await send(path, {})).toMatchObject({ reason: undefined, cookies: 1 })
})
