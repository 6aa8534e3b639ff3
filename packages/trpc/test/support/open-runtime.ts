import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { type AuthDatabase, staticJwks, withAuthStore } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { authStore } from '@sallyport/core/internal/server'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import {
  bindRunner,
  createAuthRuntime,
  createInternalHandler,
  defineInternalFunctions,
  type FunctionContext,
  functionsOf,
  type GetAuth,
  httpRunner,
  localRunner,
  type Runner,
  type RuntimeContext,
} from '@sallyport/trpc/action'
import { initTRPC, TRPCError } from '@trpc/server'
import { Agent, fetch as fetchOver } from 'undici'
import * as z from 'zod'
import { countingFeed } from './counting-feed.ts'
import { type FaultyStore, faultyLimits, faultyStore } from './faulty-store.ts'
import { probePlugin } from './probe-plugin.ts'
import { ORIGIN } from './visitor.ts'

type Probe = ReturnType<typeof probePlugin>

/** The auth server of the runtime's tests. */
export type ProbeAuth = TestAuth<readonly [Probe]>

/** The definition under test. */
export type ProbeDefinition = ProbeAuth['definition']

/** The ways to a remote database. */
export const RUNNERS = ['local', 'HTTP', 'unix socket'] as const
export type RunnerName = (typeof RUNNERS)[number]

/** The ways to the database. */
export const WAYS = ['direct', ...RUNNERS] as const
export type Way = (typeof WAYS)[number]

/** An app with a database, and the ways to it. */
export interface RuntimeApp {
  readonly auth: ProbeAuth
  readonly getAuth: GetAuth<ProbeDefinition>
  /** Has sessions and limits that can fail. */
  readonly db: AuthDatabase
  readonly store: FaultyStore
  /** The plugin's endpoints that ran. */
  readonly runs: string[]
  /** The internal functions that were called, including the built-in ones. */
  readonly calls: string[]
  /** Waits for the pending calls. */
  settled(): Promise<void>
  readonly runners: Readonly<Record<RunnerName, Runner>>
  /** Signs in a new user without a password, since hashing one takes longer than a test. */
  signIn(options?: { role?: string }): Promise<TestSession>
  /** Clears the records, and ends all faults. */
  reset(): void
  close(): Promise<void>
}

const t = initTRPC
  .context<{ db: AuthDatabase; session: { userId: string } | null; written: string[] }>()
  .create()

const internalRouter = t.router({
  note: t.router({
    list: t.procedure.query(({ ctx }) => ({ notes: ctx.written, by: ctx.session?.userId ?? null })),
    save: t.procedure.input(z.object({ text: z.string() })).mutation(({ ctx, input }) => {
      ctx.written.push(input.text)
      return { by: ctx.session?.userId ?? null, at: new Date(0) }
    }),
    missing: t.procedure.query(() => {
      throw new TRPCError({ code: 'NOT_FOUND', message: 'You have no such note' })
    }),
  }),
})

/** The app's internal functions. */
export const internal = functionsOf<typeof internalRouter>()

/**
 * Opens an app whose database is reached directly, in this process, and over HTTP with and without a real
 * socket.
 *
 * @param directory of the unix socket
 */
export async function openRuntime(directory: string): Promise<RuntimeApp> {
  const plugin = probePlugin()
  const auth = await createTestAuth({ plugins: [plugin], trustedProxies: ['192.0.2.1'] })
  const { config, definition } = auth
  const opened = auth.db[authStore]
  if (opened.database === undefined) throw new Error('The test database carries no database')
  const store = faultyStore(opened.sessions)
  const limits = faultyLimits(opened.database.limits)
  const sessions = { ...opened.database.sessions, findSession: store.findSession }
  const feed = countingFeed(opened.revocations)
  const database = { ...opened.database, sessions, limits, revocations: feed }
  const db = withAuthStore({}, { sessions: store, revocations: feed, limits, database })
  const { getAuth } = createAuthRuntime(() => definition)

  const written: string[] = []
  const calls: string[] = []
  const functions = defineInternalFunctions({
    router: internalRouter,
    createContext: () => ({ db, written }),
    config,
    getAuth,
  })
  const signingKeys = { keys: [await createSigningKey()] }
  const serviceJwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const handler = createInternalHandler(functions, { serviceJwks })
  const service = { name: 'edge', signingKeys }
  const url = 'http://localhost/internal'
  const socketPath = `${directory}/internal.sock`
  const server = createServer(getRequestListener(handler))
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const dispatcher = new Agent({ connect: { socketPath } })

  const runners = {
    local: localRunner(functions),
    HTTP: httpRunner({ url, service, config, fetch: (input, init) => handler(new Request(input, init)) }),
    'unix socket': httpRunner({
      url,
      service,
      config,
      fetch: (input, init) => fetchOver(input, { ...init, dispatcher }),
    }),
  }
  let pending = 0
  const noted = (runner: Runner): Runner => ({
    async run(call) {
      calls.push(call.path)
      pending++
      return runner.run(call).finally(() => pending--)
    },
  })

  return {
    auth,
    getAuth,
    db,
    store,
    runs: plugin.runs,
    calls,
    runners: {
      local: noted(runners.local),
      HTTP: noted(runners.HTTP),
      'unix socket': noted(runners['unix socket']),
    },
    async settled() {
      do await new Promise(setImmediate)
      while (pending > 0)
    },
    async signIn({ role = 'user' } = {}) {
      const userId = crypto.randomUUID()
      const now = auth.clock.now()
      await auth.db
        .insertInto('user')
        .values({
          id: userId,
          name: 'Test User',
          email: `${userId}@example.com`,
          emailVerified: false,
          image: null,
          role,
          banned: false,
          banReason: null,
          banExpires: null,
          createdAt: now,
          updatedAt: now,
        })
        .execute()
      return auth.signIn({ userId })
    },
    reset() {
      store.answer = null
      limits.fault = null
      plugin.runs.length = 0
      calls.length = 0
      written.length = 0
    },
    async close() {
      await dispatcher.destroy()
      await new Promise((resolve) => server.close(resolve))
      await auth.close()
    },
  }
}

/** Returns the context's members that lead to the database. */
export function wayTo(app: RuntimeApp, way: Way): { db: AuthDatabase } | FunctionContext {
  return way === 'direct' ? { db: app.db } : bindRunner(app.runners[way])
}

/** The options of a request. */
export interface RouteRequest {
  readonly cookie?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Creates the context of a plain HTTP route, called from a page of the app. */
export function routeContext(
  app: RuntimeApp,
  way: Way,
  { cookie, method = 'POST', headers = {} }: RouteRequest = {},
): RuntimeContext {
  const sent = { origin: ORIGIN, ...(cookie !== undefined && { cookie }), ...headers }
  const { auth } = createAuthContext(app.auth.config).headers(sent, { method, remoteAddress: '192.0.2.7' })
  return { auth, ...wayTo(app, way) }
}
