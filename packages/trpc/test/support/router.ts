import { on, once } from 'node:events'
import { AuthError, isAuthError } from '@sallyport/core'
import {
  authErrorData,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  getSession,
  optionalSessionMiddleware,
  rateLimit,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, TRPCError, tracked } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import * as z from 'zod'
import type { Stage } from './stage.ts'

/** The context of the test app. */
export interface AppContext extends DatabaseContext {
  readonly stage: Stage
}

const t = initTRPC.context<AppContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

/** Runs between the guard and the resolver, so everything it counts was accepted. */
const counted = t.middleware(({ ctx, path, next }) => {
  ctx.stage.runs.push(path)
  return next()
})

/** Waits for the gate before the guard, like an app's slow middleware. */
const gated = t.middleware(async ({ ctx, next }) => {
  await ctx.stage.gate
  return next()
})

const publicProcedure = t.procedure.use(counted)
const protectedProcedure = t.procedure.use(sessionMiddleware).use(counted)
const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware).use(counted)
const optionalProcedure = t.procedure.use(optionalSessionMiddleware).use(counted)
const adminProcedure = t.procedure.use(sessionMiddleware).use(requireRole('admin')).use(counted)
const staffProcedure = t.procedure.use(sessionMiddleware).use(requireRole('editor', 'admin')).use(counted)
const slowProcedure = t.procedure.use(gated).use(sessionMiddleware).use(counted)
const slowSensitiveProcedure = t.procedure.use(gated).use(sensitiveSessionMiddleware).use(counted)

/** Yields `ready` once it listens to the source, and then the test's values. */
async function* ticks({
  ctx,
}: {
  ctx: AppContext & { auth: { signal: AbortSignal } }
}): AsyncGenerator<string> {
  const events = on(ctx.stage.ticker, 'tick', { signal: ctx.auth.signal })
  try {
    yield 'ready'
    for await (const [value] of events) yield String(value)
  } finally {
    ctx.stage.abortedAtCleanup.push(ctx.auth.signal.aborted)
  }
}

const never = new Promise<never>(() => {})

/** How recent a sign-in must be for a payment, in seconds. */
export const MAX_AGE = 300

/** What each procedure of `limited` allows. */
export const LIMIT = { points: 3, duration: 60 } as const

/** Returns the name in an input, even if the rest is invalid. */
function nameIn(input: unknown): string {
  return typeof input === 'object' && input !== null && 'name' in input ? String(input.name) : 'nobody'
}

const limited = t.router({
  write: t.procedure
    .use(sessionMiddleware)
    .use(rateLimit(LIMIT))
    .use(counted)
    .mutation(() => 'written'),
  rewrite: t.procedure
    .use(sessionMiddleware)
    .use(rateLimit({ ...LIMIT, by: 'user' }))
    .use(counted)
    .mutation(() => 'written'),
  read: t.procedure
    .use(sessionMiddleware)
    .use(rateLimit(LIMIT))
    .use(counted)
    .query(({ ctx }) => ctx.session.userId),
  clock: t.procedure.use(sessionMiddleware).use(rateLimit(LIMIT)).use(counted).subscription(ticks),
  /** Counts anonymous callers by address, and others by user. */
  greet: t.procedure
    .use(optionalSessionMiddleware)
    .use(rateLimit(LIMIT))
    .use(counted)
    .query(() => 'hello'),
  welcome: t.procedure
    .use(optionalSessionMiddleware)
    .use(rateLimit({ ...LIMIT, by: 'user' }))
    .use(counted)
    .query(() => 'welcome'),
  ping: t.procedure
    .use(rateLimit(LIMIT))
    .use(counted)
    .query(() => 'pong'),
  upload: t.procedure
    .use(sessionMiddleware)
    .use(rateLimit({ ...LIMIT, by: 'address' }))
    .use(counted)
    .mutation(() => 'uploaded'),
  invite: t.procedure
    .use(rateLimit({ ...LIMIT, by: async ({ input }) => nameIn(input) }))
    .use(counted)
    .input(z.object({ name: z.string(), text: z.string().optional() }))
    .mutation(({ input }) => `invited ${input.name}`),
  /** Has no user to count by here. */
  misplaced: t.procedure
    .use(rateLimit({ ...LIMIT, by: 'user' }))
    .use(counted)
    .query(() => 'ok'),
})

export const appRouter = t.router({
  health: publicProcedure.query(() => 'ok'),
  me: protectedProcedure.query(({ ctx }) => ctx.session.userId),
  whoami: optionalProcedure.query(({ ctx }) => ctx.session?.userId ?? null),
  peek: publicProcedure.query(async ({ ctx }) => (await getSession(ctx)).id),
  users: adminProcedure.query(() => 'all of them'),
  drafts: staffProcedure.query(() => 'some of them'),
  limited,
  payment: t.procedure
    .use(createSensitiveSessionMiddleware({ maxAge: MAX_AGE }))
    .use(counted)
    .mutation(({ ctx }) => ctx.session.id),
  balance: t.procedure
    .use(createSensitiveSessionMiddleware({ maxAge: MAX_AGE }))
    .use(counted)
    .query(({ ctx }) => ctx.session.id),
  secret: sensitiveProcedure.query(({ ctx }) => ctx.session.id),
  slow: slowProcedure.query(({ ctx }) => ctx.session.userId),
  slowSecret: slowSensitiveProcedure.query(({ ctx }) => ctx.session.userId),

  write: protectedProcedure.mutation(() => 'written'),
  upload: protectedProcedure.input(z.instanceof(FormData)).mutation(({ input }) => input.get('text')),
  rotate: sensitiveProcedure.mutation(() => 'rotated'),
  slowWrite: slowProcedure.mutation(() => 'written'),
  slowRotate: slowSensitiveProcedure.mutation(() => 'rotated'),
  /** Ends the caller's own session in the middle of a batch, and then opens the gate for later calls. */
  leave: protectedProcedure.mutation(async ({ ctx }) => {
    await ctx.stage.revoke(ctx.session.id)
    ctx.stage.openGate()
    return 'left'
  }),

  /** Runs until its session ends. */
  waiting: protectedProcedure.query(async ({ ctx }) => {
    await once(ctx.auth.signal, 'abort')
    return isAuthError(ctx.auth.signal.reason.cause) ? ctx.auth.signal.reason.cause.reason : 'no reason'
  }),

  /** Reads the signal and returns. */
  glance: protectedProcedure.query(({ ctx }) => ctx.auth.signal.aborted),
  /** Leaves work behind that reads the signal later. */
  hasty: protectedProcedure.query(({ ctx }) => {
    ctx.stage.askForSignalLate = () => ctx.auth.signal
  }),

  named: protectedProcedure.input(z.object({ name: z.string().min(1) })).query(({ input }) => input.name),
  missing: protectedProcedure.query(() => {
    throw new TRPCError({ code: 'NOT_FOUND', message: 'You have no such note' })
  }),
  crash: protectedProcedure.query(() => {
    throw new Error('a bug of the app')
  }),
  /** Simulates an app's database that is unreachable. */
  gone: protectedProcedure.input(z.object({ seconds: z.number() }).optional()).query(({ input }) => {
    throw new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: input?.seconds ?? 7 })
  }),
  banned: protectedProcedure.query(() => {
    throw new AuthError('ACCOUNT_BANNED')
  }),
  recheck: protectedProcedure.query(async ({ ctx }) => {
    await ctx.stage.revoke(ctx.session.id)
    return getSession(ctx)
  }),

  clock: protectedProcedure.subscription(ticks),
  /** Waits before it returns the stream. */
  lateClock: protectedProcedure.subscription(async (opts) => {
    await opts.ctx.stage.gate
    return ticks(opts)
  }),
  sensitiveClock: sensitiveProcedure.subscription(ticks),
  doublyGuardedClock: protectedProcedure.use(sensitiveSessionMiddleware).subscription(ticks),
  doublyGuarded: protectedProcedure.use(sensitiveSessionMiddleware).query(({ ctx }) => ctx.session.userId),
  optionalClock: optionalProcedure.subscription(async function* ({ ctx }) {
    yield ctx.session === null ? 'stranger' : 'ready'
    await never
  }),
  /** Reads the signal before any reader reads the stream. */
  eager: protectedProcedure.query(({ ctx }) => {
    const { signal } = ctx.auth
    ctx.stage.askForSignalLate = () => signal
    return (async function* () {
      yield signal.aborted
    })()
  }),

  adminClock: adminProcedure.subscription(ticks),
  /** Guarded again after the role. */
  sensitiveAdminClock: adminProcedure.use(sensitiveSessionMiddleware).subscription(ticks),
  paymentClock: t.procedure
    .use(createSensitiveSessionMiddleware({ maxAge: MAX_AGE }))
    .use(counted)
    .subscription(ticks),

  streamed: protectedProcedure.query(ticks),
  /** Responds with parts that come later. */
  parts: protectedProcedure.query((opts) => ({
    first: 'ready',
    later: opts.ctx.stage.gate.then(() => ({ said: 'later', live: ticks(opts) })),
    live: ticks(opts),
    never,
  })),
  parsedClock: protectedProcedure
    .output(z.custom<AsyncGenerator<string>>((value) => typeof value === 'object'))
    .subscription(ticks),
  trackedClock: protectedProcedure.subscription(async function* (opts) {
    let id = 0
    for await (const value of ticks(opts)) yield tracked(String(++id), value)
  }),
  /** Yields all counted numbers, each with itself as its id. */
  numbers: protectedProcedure
    .input(z.object({ lastEventId: z.string() }).optional())
    .subscription(async function* ({ ctx, input }) {
      const counts = on(ctx.stage.ticker, 'count', { signal: ctx.auth.signal })
      for (let number = Number(input?.lastEventId ?? 0); ; await counts.next())
        while (number < ctx.stage.counted) yield tracked(String(++number), number)
    }),
  /** Yields the numbers that are counted from now on, without a session. */
  publicNumbers: publicProcedure.subscription(async function* ({ ctx, signal }) {
    for await (const _ of on(ctx.stage.ticker, 'count', { signal: signal as AbortSignal }))
      yield ctx.stage.counted
  }),
  observableClock: protectedProcedure.subscription(({ ctx }) =>
    observable<string>((observer) => {
      const listener = (value: string) => observer.next(value)
      ctx.stage.ticker.on('tick', listener)
      observer.next('ready')
      return () => void ctx.stage.ticker.off('tick', listener)
    }),
  ),
  /** Ends normally. */
  short: protectedProcedure.subscription(async function* () {
    yield 'ready'
  }),
  /** Ignores its signal and never yields again. */
  deaf: protectedProcedure.subscription(async function* () {
    yield 'ready'
    await never
  }),
  deafStreamed: protectedProcedure.query(async function* () {
    yield 'ready'
    await never
  }),
  /** Its cleanup never ends. */
  stubborn: protectedProcedure.subscription(async function* (opts) {
    try {
      yield* ticks(opts)
    } finally {
      await never
    }
  }),
  /** Its cleanup fails. */
  clumsy: protectedProcedure.subscription(async function* (opts) {
    try {
      yield* ticks(opts)
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: an app's cleanup may do this
      throw new Error('the clean-up failed')
    }
  }),
  /** Fails before the stream exists. */
  stillborn: protectedProcedure.subscription(({ ctx }): AsyncGenerator<string> => {
    throw new Error(`a bug of the app, ${ctx.auth.signal.aborted}`)
  }),
  /** Its database becomes unreachable after the first value. */
  orphaned: protectedProcedure.subscription(async function* () {
    yield 'ready'
    throw new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: 7 })
  }),
  orphanedObservable: protectedProcedure.subscription(() =>
    observable<string>((observer) => {
      observer.next('ready')
      observer.error(new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: 7 }))
    }),
  ),
  /** Fails after its first value. */
  fragile: protectedProcedure.subscription(async function* () {
    yield 'ready'
    throw new Error('a bug of the app')
  }),
})

export type AppRouter = typeof appRouter
export const createCaller = t.createCallerFactory(appRouter)
