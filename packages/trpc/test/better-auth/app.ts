import { isAuthError } from '@sallyport/core'
import { authStore, isConfigurationError, PROBE_ID } from '@sallyport/core/internal/server'
import { sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { type BetterAuthGuardOptions, betterAuthGuard } from '@sallyport/trpc/better-auth'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { admin, organization } from 'better-auth/plugins'
import { onTestFinished } from 'vitest'
import { cookieOf, createTrpc, FAST_PASSWORDS, ORIGIN, PASSWORD, SECRET } from './create-auth.ts'

/** Options with columns of every type. */
export const COLUMNS = {
  baseURL: ORIGIN,
  secret: SECRET,
  emailAndPassword: FAST_PASSWORDS,
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

function signedIn(headers: Headers) {
  const cookie = cookieOf(headers)
  return { cookie, headers: new Headers({ cookie }) }
}

/** An app whose procedures are guarded, and which signs users in with Better Auth. Closed after the test. */
export function createApp(
  options: Omit<typeof COLUMNS, 'plugins'> & BetterAuthOptions,
  { db, ...guardOptions }: BetterAuthGuardOptions & { db: object },
) {
  const auth = betterAuth({ ...options, plugins: COLUMNS.plugins })
  const guard = betterAuthGuard(auth, guardOptions)
  onTestFinished(() => guard.close())
  const { t, createContext } = createTrpc(guard, db)
  let seen: unknown
  let beforeWriting: () => Promise<unknown> = async () => undefined
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx: { session, user } }) => {
      seen = { session, user }
    }),
    live: t.procedure.use(sessionMiddleware).subscription(async function* ({ ctx: { auth } }) {
      yield 'open'
      await new Promise((resolve) => auth.signal.addEventListener('abort', resolve))
    }),
    write: t.procedure.use(sensitiveSessionMiddleware).query(async ({ ctx }) => {
      await beforeWriting()
      seen = await ctx.transaction(async () => 'written')
    }),
  })

  return {
    auth,
    guard,
    /** Runs after Step 2 of the next write, before its transaction. */
    beforeWriting(run: () => Promise<unknown>) {
      beforeWriting = run
    },
    async signUp() {
      const { headers } = await auth.api.signUpEmail({ body: ADA, returnHeaders: true })
      // Opens the store. A call on a busy machine might not wait for that.
      const { sessions } = guard.attach(db)[authStore]
      try {
        await sessions.findSession({ sessionId: PROBE_ID, userId: PROBE_ID })
      } catch (error) {
        // Calls fail with it too.
        if (!(isAuthError(error) && isConfigurationError(error.cause))) throw error
      }
      return signedIn(headers)
    },
    async signIn() {
      const { headers } = await auth.api.signInEmail({ body: ADA, returnHeaders: true })
      return signedIn(headers)
    },
    /** Opens a stream, and returns a promise of the reason for which it ends. */
    async openStream(cookie: string): Promise<{ readonly ended: Promise<unknown> }> {
      const context = { ...guard.headers({ cookie, 'sec-fetch-site': 'same-origin' }), db: guard.attach(db) }
      const stream = await router.createCaller(context).live()
      const iterator = stream[Symbol.asyncIterator]()
      await iterator.next()
      const reasonOf = ({ cause }: { readonly cause?: unknown }) => isAuthError(cause) && cause.reason
      return { ended: iterator.next().catch(reasonOf) }
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
