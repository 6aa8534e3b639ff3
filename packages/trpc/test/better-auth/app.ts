import { authStore } from '@sallyport/core/internal/server'
import { sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { type BetterAuthGuardOptions, betterAuthGuard } from '@sallyport/trpc/better-auth'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { admin, organization } from 'better-auth/plugins'
import { cookieOf, createTrpc, ORIGIN, PASSWORD, SECRET } from './create-auth.ts'

/** Options with columns of every type. */
export const COLUMNS = {
  baseURL: ORIGIN,
  secret: SECRET,
  emailAndPassword: { enabled: true },
  // Better Auth 1.7.0 writes the names of tables into the plugins.
  get plugins() {
    return [admin(), organization()] satisfies [unknown, unknown]
  },
  user: {
    additionalFields: {
      birthday: { type: 'date', required: false },
      settings: { type: 'json', required: false },
      tags: { type: 'string[]', required: false },
      points: { type: 'number', required: false },
      newsletter: { type: 'boolean', required: false },
      note: { type: 'string', required: false, returned: false },
    },
  },
} as const satisfies BetterAuthOptions

const ADA = {
  name: 'Ada',
  email: 'ada@example.com',
  password: PASSWORD,
  birthday: new Date('1985-03-04T00:00:00.000Z'),
  settings: { theme: 'dark', since: 2020 },
  tags: ['a', 'b "c"'],
  points: 7,
  newsletter: true,
  note: 'hidden',
}

/** An app whose procedures are guarded, and which signs users in with Better Auth. */
export function createApp(
  options: Omit<typeof COLUMNS, 'plugins'> & BetterAuthOptions,
  { db, ...guardOptions }: BetterAuthGuardOptions & { db: object },
) {
  const auth = betterAuth({ ...options, plugins: COLUMNS.plugins })
  const guard = betterAuthGuard(auth, guardOptions)
  const { t, createContext } = createTrpc(guard, db)
  let seen: unknown
  let beforeWriting: () => Promise<unknown> = async () => undefined
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx: { session, user } }) => {
      seen = { session, user }
    }),
    write: t.procedure.use(sensitiveSessionMiddleware).query(async ({ ctx }) => {
      await beforeWriting()
      seen = await ctx.transaction(async () => 'written')
    }),
  })

  return {
    auth,
    /** Runs after Step 2 of the next write, before its transaction. */
    beforeWriting(run: () => Promise<unknown>) {
      beforeWriting = run
    },
    /** Signs up, in an organization, and returns the cookie. */
    async signUp() {
      const { headers } = await auth.api.signUpEmail({ body: ADA, returnHeaders: true })
      // Opens the store. A call on a busy machine might not wait for that. Its error is that of the call too.
      const { sessions } = guard.attach(db)[authStore]
      await Promise.resolve(sessions.findSession({ sessionId: 'none', userId: 'none' })).catch(() => null)
      const cookie = cookieOf(headers)
      return { cookie, headers: new Headers({ cookie }) }
    },
    /** Returns what a procedure receives, or the reason for which it isn't run. */
    async call(cookie: string, procedure: 'me' | 'write' = 'me'): Promise<unknown> {
      seen = undefined
      const req = new Request(`${ORIGIN}/trpc/${procedure}`, {
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
      })
      const response = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext })
      const { error } = await response.json()
      return error === undefined ? seen : (error.data.auth?.reason ?? error.data.code)
    },
  }
}
