import { type AuthDatabase, AuthError, REASONS, type Reason } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import type { TestSession } from '@sallyport/core/testing'
import {
  type AuthContext,
  assertGuarded,
  authErrorData,
  createAuthContext,
  rateLimit,
  requireRole,
  sessionMiddleware,
} from '@sallyport/trpc'
import type { Runner } from '@sallyport/trpc/action'
import { createAuthedAction } from '@sallyport/trpc/action'
import { initTRPC, type TRPCError } from '@trpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { internal, openRuntime } from '../support/open-runtime.ts'
import { callerPaths, type Outcome, outcomeOf, rejectionFor } from '../support/outcome.ts'
import { readStream } from '../support/stream.ts'
import { ORIGIN } from '../support/visitor.ts'

const directory = temporaryDirectory()

const app = await openRuntime(directory)
beforeEach(() => app.reset())
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => app.close())

/** Where an action runs, and its path to the database. */
const PLACES = {
  'beside the database': { hasDb: true, runner: 'local' },
  'without a database': { hasDb: false, runner: 'HTTP' },
  'without a database, over a unix socket': { hasDb: false, runner: 'unix socket' },
} as const
type Place = keyof typeof PLACES
const places = Object.keys(PLACES) as Place[]

interface Context extends AuthContext {
  readonly db?: AuthDatabase | undefined
  readonly runner: Runner
  readonly requestId: string
}

const t = initTRPC
  .context<Context>()
  .meta<{ cost: number }>()
  .create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })

/** Accepted calls: the path and the context of each. */
const runs: { path: string; ctx: object }[] = []
const authedAction = createAuthedAction(
  t.procedure,
  (ctx) => app.getAuth(ctx),
  ({ runner }) => runner,
).use(({ ctx, path, next }) => {
  runs.push({ path, ctx })
  return next()
})
beforeEach(() => {
  runs.length = 0
})

/** Runs between the guard and the resolver. */
let meanwhile: () => Promise<unknown> = async () => {}
afterEach(() => {
  meanwhile = async () => {}
})

const router = t.router({
  whoami: authedAction.meta({ cost: 1 }).query(({ ctx }) => ({
    user: ctx.user.id,
    session: ctx.session.id,
    identity: ctx.identity.sessionId,
    requestId: ctx.requestId,
    locale: ctx.user.locale,
    theme: ctx.session.theme,
  })),
  report: authedAction
    .input(z.object({ text: z.string(), idempotencyKey: z.string().optional() }))
    .mutation(async ({ ctx, input: { text, idempotencyKey } }) => {
      await meanwhile()
      return ctx.runMutation(internal.note.save, { text }, { idempotencyKey })
    }),
  notes: authedAction.query(async ({ ctx }) => {
    await meanwhile()
    return ctx.runQuery(internal.note.list)
  }),
  missing: authedAction.query(({ ctx }) => ctx.runQuery(internal.note.missing)),
  sneaky: authedAction.query(({ ctx }) => ctx.runMutation(internal.note.save, { text: 'in a query' })),
  sneakyEvents: authedAction.subscription(async function* ({ ctx }) {
    yield await ctx.runMutation(internal.note.save, { text: 'in a subscription' })
  }),
  takeInStream: authedAction.subscription(async function* ({ ctx }) {
    yield await ctx.auth.api.takeName()
  }),
  sneakyApi: authedAction.query(({ ctx }) => ctx.auth.api.writeAsUser({ text: 'in a query' })),
  current: authedAction.query(({ ctx }) => ctx.auth.api.readAsUser()),
  rename: authedAction.mutation(({ ctx }) => ctx.auth.api.writeAsUser({ text: 'hello' })),
  take: authedAction.mutation(({ ctx }) => ctx.auth.api.takeName()),
  spend: authedAction.mutation(({ ctx }) => ctx.auth.api.spend()),
  forAdmins: authedAction.use(requireRole('admin')).mutation(() => 'done'),
  /** A limit writes its count, but a query may still use one. */
  limited: authedAction.use(rateLimit({ points: 2, duration: 60 })).query(() => 'done'),
  adminClock: authedAction.use(requireRole('admin')).subscription(async function* ({ ctx }) {
    yield 'ready'
    await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve, { once: true }))
  }),
  clock: authedAction.subscription(async function* ({ ctx }) {
    yield 'ready'
    await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve, { once: true }))
  }),
})

const createCaller = t.createCallerFactory(router)

/** Returns a caller for the actions. All its calls belong to one request. */
function callerAt(
  place: Place,
  { cookie }: { cookie?: string } = {},
  transport: 'http' | 'events' | 'ws' = 'http',
) {
  const { hasDb, runner } = PLACES[place]
  const headers = { origin: ORIGIN, ...(cookie !== undefined && { cookie }) }
  const context = createAuthContext(app.auth.config)
  const [method, type] =
    transport === 'http' ? (['POST', 'mutation'] as const) : (['GET', 'subscription'] as const)
  const { auth } =
    transport === 'ws'
      ? context.ws({ req: { headers }, info: { connectionParams: null } })
      : context.http({ req: { method, headers }, info: { type, accept: null } })
  return createCaller(
    { auth, ...(hasDb && { db: app.db }), runner: app.runners[runner], requestId: 'r1' },
    { onError: notePath },
  )
}

/** Records the path of an error, as an error formatter does. */
function notePath({ error, path }: { error: TRPCError; path?: string | undefined }): void {
  if (path !== undefined) callerPaths.set(error, path)
}

const reasonOf = ({ rejection }: Outcome): Reason | null => rejection?.auth?.reason ?? null

describe.each(places)('an action %s', (place) => {
  describe('checks both steps', () => {
    test.each<{ state: string; change: (session: TestSession) => Promise<unknown>; reason: Reason | null }>([
      { state: 'a valid session', change: async () => {}, reason: null },
      { state: 'a revoked session', change: (s) => app.auth.revoke(s), reason: 'SESSION_NOT_FOUND' },
      { state: 'an expired session', change: (s) => app.auth.expireSession(s), reason: 'SESSION_EXPIRED' },
      { state: 'a banned user', change: (s) => app.auth.ban(s), reason: 'ACCOUNT_BANNED' },
    ])('$state: $reason', async ({ change, reason }) => {
      const session = await app.signIn()
      await change(session)
      const { rejection } = await outcomeOf(callerAt(place, session).whoami())
      if (reason === null) {
        expect(rejection).toBeNull()
      } else {
        const { status, code, message } = REASONS[reason]
        expect(rejection).toMatchObject({ httpStatus: status, code, message, auth: { reason, replay: true } })
      }
      expect(runs).toHaveLength(reason === null ? 1 : 0)
    })

    test('a later call of the same request notices a revocation elsewhere', async () => {
      const session = await app.signIn()
      const caller = callerAt(place, session)
      await caller.whoami()
      const revoked = app.db[authStore].database?.db.deleteFrom('session')
      await revoked?.where('id', '=', session.sessionId).execute()
      // Beside the database, the feed announces it.
      app.db[authStore].revocations.publish(session)
      expect(reasonOf(await outcomeOf(caller.whoami()))).toBe('SESSION_NOT_FOUND')
    })

    test('responds with 503 and is retryable while the database is unreachable', async () => {
      const session = await app.signIn()
      app.store.answer = () => Promise.reject(new Error('connection refused'))
      const { rejection } = await outcomeOf(callerAt(place, session).whoami())
      expect(rejection).toMatchObject({
        httpStatus: 503,
        auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 1 },
      })
      expect(runs).toEqual([])
    })
  })

  describe('puts into its context', () => {
    test("the session, user, and identity with added columns, and the app's own members", async () => {
      const session = await app.signIn()
      const { userId, sessionId } = session
      expect(await callerAt(place, session).whoami()).toEqual({
        user: userId,
        session: sessionId,
        identity: sessionId,
        requestId: 'r1',
        locale: 'en',
        theme: null,
      })
    })

    test('no database', async () => {
      await callerAt(place, await app.signIn()).whoami()
      expect(runs[0]?.ctx).toHaveProperty('db', undefined)
    })

    test('functions that run on behalf of the caller', async () => {
      const session = await app.signIn()
      const caller = callerAt(place, session)
      expect(await caller.report({ text: 'hello' })).toEqual({
        by: session.userId,
        at: '1970-01-01T00:00:00.000Z',
      })
      expect(await caller.notes()).toEqual({ notes: ['hello'], by: session.userId })
    })

    test('the endpoints on behalf of the caller', async () => {
      const session = await app.signIn()
      const caller = callerAt(place, session)
      expect(await caller.current()).toMatchObject({ caller: session.userId })
      expect(await caller.rename()).toEqual({ caller: session.userId, text: 'hello' })
    })

    test("endpoints that don't check the JWT again: over WebSocket, the identity outlives it", async () => {
      const session = await app.signIn()
      const caller = callerAt(place, session, 'ws')
      await caller.whoami()
      app.auth.clock.advance(app.auth.config.jwtLifetimeSeconds + 60)
      expect(await outcomeOf(caller.current())).toMatchObject({ data: { caller: session.userId } })
      await app.auth.revoke(session)
      expect(reasonOf(await outcomeOf(caller.current()))).toBe('SESSION_NOT_FOUND')
    })
  })

  describe('rejects', () => {
    test.each<{ call: string; run: (caller: ReturnType<typeof callerAt>) => Promise<unknown> }>([
      { call: 'ctx.runMutation in a query', run: (caller) => caller.sneaky() },
      { call: 'an endpoint that writes in a query', run: (caller) => caller.sneakyApi() },
    ])('$call with WRITE_IN_QUERY, before it sends anything', async ({ run }) => {
      const caller = callerAt(place, await app.signIn())
      await caller.whoami()
      app.calls.length = 0
      await expect(run(caller)).rejects.toMatchObject({ cause: { code: 'WRITE_IN_QUERY' } })
      expect(app.calls.filter((path) => path !== 'sallyport.findSession')).toEqual([])
      expect(app.runs).toEqual([])
    })

    test('ctx.runMutation in a subscription that came by GET, but not over WebSocket', async () => {
      const session = await app.signIn()
      const firstOver = async (transport: 'events' | 'ws'): Promise<unknown> => {
        for await (const value of await callerAt(place, session, transport).sneakyEvents()) return value
      }
      await expect(firstOver('events')).rejects.toMatchObject({ code: 'WRITE_IN_QUERY' })
      expect(app.calls).not.toContain('note.save')
      expect(await firstOver('ws')).toMatchObject({ by: session.userId })
    })

    test.each<{ state: string; change: (session: TestSession) => Promise<unknown>; reason: Reason }>([
      { state: 'revoked', change: (s) => app.auth.revoke(s), reason: 'SESSION_NOT_FOUND' },
      { state: 'banned', change: (s) => app.auth.ban(s), reason: 'ACCOUNT_BANNED' },
    ])('a function call after the user was $state: $reason', async ({ change, reason }) => {
      const session = await app.signIn()
      meanwhile = () => change(session)
      const caller = callerAt(place, session)
      expect((await outcomeOf(caller.report({ text: 'late' }))).rejection).toMatchObject(
        rejectionFor(reason, { replay: false }),
      )
    })
  })
})

test.each<{ backend: string; run: Runner['run'] }>([
  { backend: 'is unreachable', run: () => Promise.reject(new TypeError('fetch failed')) },
  { backend: "returns something that isn't a session", run: async () => ({ id: 'somebody' }) },
  { backend: 'rejects its credentials', run: () => Promise.reject(new AuthError('SESSIONS_UNAVAILABLE')) },
])('an action whose backend $backend responds with 503, and its resolver does not run', async ({ run }) => {
  const { cookie } = await app.signIn()
  const { auth } = createAuthContext(app.auth.config).headers({ cookie, origin: ORIGIN }, { method: 'POST' })
  const caller = createCaller({ auth, runner: { run }, requestId: 'r1' })
  const { rejection } = await outcomeOf(caller.whoami())
  expect(rejection).toMatchObject({ httpStatus: 503, auth: { reason: 'SESSIONS_UNAVAILABLE' } })
  expect(runs).toEqual([])
})

describe('a stream of an action', () => {
  test('ends with the reason as soon as the session ends, beside the database', async () => {
    const session = await app.signIn()
    const stream = await openClock('beside the database', session)
    await app.auth.revoke(session)
    expect((await stream.ended)?.auth).toMatchObject({ reason: 'SESSION_NOT_FOUND', replay: false })
    expect(stream.values).toEqual(['ready'])
  })

  test.each<{ state: string; change: (session: TestSession) => Promise<unknown>; reason: Reason }>([
    { state: 'revoked', change: (s) => app.auth.revoke(s), reason: 'SESSION_NOT_FOUND' },
    { state: 'banned', change: (s) => app.auth.ban(s), reason: 'ACCOUNT_BANNED' },
  ])('ends within the lease after its user was $state, without a database', async ({ change, reason }) => {
    const session = await app.signIn()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const stream = await openClock('without a database', session)
    await change(session)
    let ended = false
    void stream.ended.then(() => {
      ended = true
    })
    for (let elapsed = 0; elapsed < 5_000 && !ended; elapsed += 100) {
      await vi.advanceTimersByTimeAsync(100)
      await app.settled()
    }
    expect(ended).toBe(true)
    expect((await stream.ended)?.auth).toMatchObject({ reason })
    // No lookups continue after the end.
    app.calls.length = 0
    await vi.advanceTimersByTimeAsync(10_000)
    expect(app.calls).toEqual([])
  })

  test.each(places)('keeps the status of an endpoint, %s', async (place) => {
    const session = await app.signIn()
    const stream = readStream(await callerAt(place, session, 'ws').takeInStream(), () => {})
    expect(await stream.ended).toMatchObject({ httpStatus: 409 })
  })

  async function openClock(place: Place, session: TestSession) {
    const iterable = await callerAt(place, session).clock()
    const stream = readStream(iterable, () => {})
    expect(await stream.first).toEqual({ data: 'ready', rejection: null })
    return stream
  }
})

/** Removes the admin role. */
async function demote({ userId }: TestSession): Promise<void> {
  const { cookie } = await app.signIn({ role: 'admin' })
  const { auth } = createAuthContext(app.auth.config).headers({ cookie, origin: ORIGIN }, { method: 'POST' })
  await app.getAuth({ auth, db: app.db }).api.setRole({ userId, role: 'user' })
}

describe('the builder', () => {
  test('is recognized as guarded, and parses inputs after the guard', () => {
    expect(() => assertGuarded(router, { public: [] })).not.toThrow()
  })

  test("passes the caller's idempotency key and signal to its runner", async () => {
    const calls: Parameters<Runner['run']>[0][] = []
    const runner: Runner = {
      async run(call) {
        calls.push(call)
        return { by: null, at: '' }
      },
    }
    const { cookie, userId } = await app.signIn()
    const { auth } = createAuthContext(app.auth.config).headers(
      { cookie, origin: ORIGIN },
      { method: 'POST' },
    )
    const page = new AbortController()
    const caller = createCaller({ auth, db: app.db, runner, requestId: 'r1' }, { signal: page.signal })
    await caller.report({ text: 'once', idempotencyKey: 'k1' })
    await caller.notes()
    expect(calls).toEqual([
      {
        type: 'mutation',
        path: 'note.save',
        input: { text: 'once' },
        idempotencyKey: 'k1',
        actor: expect.objectContaining({ userId }),
        signal: page.signal,
      },
      {
        type: 'query',
        path: 'note.list',
        input: undefined,
        actor: expect.objectContaining({ userId }),
        signal: page.signal,
      },
    ])
  })

  describe('accepts a procedure that is already guarded', () => {
    const withDb = initTRPC.context<AuthContext & { readonly db: AuthDatabase }>().create()
    const action = createAuthedAction(
      withDb.procedure.use(sessionMiddleware).use(requireRole('admin')),
      (ctx) => app.getAuth(ctx),
      () => app.runners.local,
    )
    const createGuardedCaller = withDb.createCallerFactory(
      withDb.router({
        me: action.query(({ ctx }) => ctx.user.id),
        clock: action.subscription(async function* () {
          yield 'ready'
          await new Promise(() => {})
        }),
      }),
    )
    const callerFor = ({ cookie }: TestSession) => {
      const { auth } = createAuthContext(app.auth.config).headers({ cookie, origin: ORIGIN })
      return createGuardedCaller({ auth, db: app.db })
    }

    test("and applies the earlier guard's requirements to its streams", async () => {
      const session = await app.signIn({ role: 'admin' })
      const stream = readStream(await callerFor(session).clock(), () => {})
      await stream.first
      await demote(session)
      expect((await stream.ended)?.auth).toMatchObject({ reason: 'ROLE_REQUIRED' })
    })
  })

  test('rejects a context that has both a database and functions', async () => {
    const { cookie } = await app.signIn()
    const { auth } = createAuthContext(app.auth.config).headers({ cookie, origin: ORIGIN })
    const context = { auth, db: app.db, runner: app.runners.local, requestId: 'r1', runQuery: () => {} }
    await expect(createCaller(context).whoami()).rejects.toMatchObject({ cause: { code: 'CONTEXT_UNCLEAR' } })
    expect(runs).toEqual([])
  })

  test('rejects a context with neither a database nor functions', async () => {
    const { cookie } = await app.signIn()
    const { auth } = createAuthContext(app.auth.config).headers({ cookie, origin: ORIGIN })
    const context = Object.assign(Object.create(null), { auth, requestId: 'r1' })
    await expect(createCaller(context).whoami()).rejects.toMatchObject({ cause: { code: 'CONTEXT_EMPTY' } })
    expect(runs).toEqual([])
  })
})
