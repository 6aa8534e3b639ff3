// Runs on the edge, so nothing here may need Node.
import {
  type AuthConfig,
  defineAuthConfig,
  dynamicJwks,
  isAuthError,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import {
  assertGuarded,
  authErrorData,
  authHandlerOptions,
  authResponseMeta,
  createAuthContext,
  type DatabaseContext,
  requireRole,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { memoryFeed } from '../../../core/src/revocations/feed.ts'
import {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from './session.ts'

const t = initTRPC.context<DatabaseContext>().create({
  // Without a `process`, tRPC assumes development and sends stack traces.
  isDev: false,
  errorFormatter: ({ shape, ...options }) => ({
    ...shape,
    data: { ...shape.data, auth: authErrorData(options) },
  }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)
const freshSessionMiddleware = createSensitiveSessionMiddleware({ maxAge: 60 })

const router = t.router({
  greet: t.procedure
    .use(optionalSessionMiddleware)
    .query(({ ctx }) => `Hello ${ctx.user?.name ?? 'stranger'}`),
  whence: t.procedure.query(({ ctx }) => ctx.auth.address() ?? 'nowhere'),
  me: protectedProcedure.query(({ ctx }) => `${ctx.user.nickname} of ${ctx.session.tenant}`),
  read: t.procedure.use(optionalSessionMiddleware).query(async ({ ctx }) => (await getSession(ctx)).id),
  pay: t.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx }) => ctx.session.id),
  confirm: t.procedure.use(freshSessionMiddleware).mutation(({ ctx }) => ctx.session.id),
  rule: protectedProcedure.use(requireRole('admin')).mutation(({ ctx }) => ctx.session.id),
  ticks: protectedProcedure.subscription(async function* ({ ctx }) {
    for (let count = 1; ; count++) {
      yield count
      await nextTick(ctx.auth.signal)
    }
  }),
})
assertGuarded(router, { public: ['greet', 'read', 'whence'] })

/** The parts of an app on the edge. */
export interface Settings {
  readonly baseUrl: string
  /** The keys, or their URL. */
  readonly keys: { readonly jwks: string } | { readonly url: string }
  /** The database's rows as JSON. The test may change them. */
  readonly sessions: StoredSession[]
  /** The clock, in milliseconds. */
  readonly now: () => number
}

/** A row of the database. */
export interface StoredSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: number
  readonly role: string
  /** Makes each lookup of this session hang. */
  readonly hangs?: true
  /** When the credentials of version 1 were replaced, as ISO text. */
  readonly rotatedAt?: string
}

/** The procedures without input, except streams. */
export type Path = Exclude<keyof typeof router._def.procedures, 'ticks'>

/** An app on the edge. */
export type App = ReturnType<typeof createApp>

/** Creates an app that handles requests like an edge function, and its own server-side calls. */
export function createApp({ baseUrl, keys, sessions, now }: Settings) {
  const config: AuthConfig = defineAuthConfig({
    baseUrl,
    jwks: 'url' in keys ? dynamicJwks(keys.url) : staticJwks(keys.jwks),
    trustedProxies: ['loopback'],
    now: () => new Date(now()),
  })
  const context = createAuthContext(config)
  const revocations = memoryFeed()
  let reads = 0
  const findSession = async (key: { sessionId: string; userId: string }) => {
    reads++
    const row = sessions.find(({ id, userId }) => id === key.sessionId && userId === key.userId)
    if (row?.hangs) return new Promise<never>(() => {})
    return row === undefined ? null : toSession(row)
  }
  const db = withAuthStore({}, { sessions: { findSession }, revocations })
  const callerOf = (cookie: string) => {
    const headers = new Headers({ cookie, origin: baseUrl })
    return t.createCallerFactory(router)({ ...context.headers(headers, { method: 'POST' }), db })
  }

  return {
    /** How often the database was read. */
    reads: () => reads,
    /** Calls a procedure. Resolves to its data, or the reason of its rejection. */
    async call(path: Path, cookie: string): Promise<string> {
      try {
        return await callerOf(cookie)[path]()
      } catch (error) {
        return reasonOf(error)
      }
    },
    /** Opens a stream. Returns a function that reads the next value, or the reason of a rejection. */
    async stream(cookie: string): Promise<() => Promise<number | string>> {
      const ticks = await callerOf(cookie).ticks()
      const iterator = ticks[Symbol.asyncIterator]()
      return async () => {
        try {
          const { done, value } = await iterator.next()
          return done === true ? 'done' : value
        } catch (error) {
          return reasonOf(error)
        }
      }
    },
    /** The same over HTTP, behind a proxy on this machine. */
    fetch(path: string, init: { method: string; headers: Record<string, string> }): Promise<Response> {
      return fetchRequestHandler({
        endpoint: '/trpc',
        req: new Request(`${baseUrl}/trpc/${path}`, init),
        router,
        createContext: (options) => ({ ...context.http({ ...options, remoteAddress: '127.0.0.1' }), db }),
        responseMeta: authResponseMeta,
        ...authHandlerOptions,
      })
    },
    /** Deletes a session, and announces it as the store does. */
    revoke(sessionId: string, userId: string): void {
      sessions.splice(
        sessions.findIndex(({ id }) => id === sessionId),
        1,
      )
      revocations.publish({ sessionId, userId })
    },
  }
}

/** Streams that wait for their next tick. */
const waiting = new Set<() => void>()

function nextTick(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Makes every stream emit once more. */
export function tick(): void {
  for (const resume of waiting) resume()
  waiting.clear()
}

function reasonOf(error: unknown): string {
  const cause = error instanceof TRPCError ? error.cause : error
  return isAuthError(cause) ? cause.reason : String(error)
}

function toSession({ id, userId, expiresAt, role, rotatedAt }: StoredSession) {
  const user = { id: userId, name: 'Ada', email: 'ada@example.com', role, nickname: 'countess' }
  const credentials = { version: rotatedAt ? 2 : 1, rotatedAt: rotatedAt ?? null, issuer: null }
  const session = { id, userId, expiresAt: new Date(expiresAt), user, ban: null }
  return {
    ...session,
    ...credentials,
    ...{ lastAuthenticatedAt: '2026-11-21T09:00:00.000Z', amr: null, acr: null, tenant: 'acme' },
  }
}
