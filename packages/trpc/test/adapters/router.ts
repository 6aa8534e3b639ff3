import { EventEmitter } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { rateLimit } from '@sallyport/trpc'
import * as z from 'zod'
import {
  adminProcedure,
  protectedProcedure,
  publicProcedure,
  router,
  sensitiveProcedure,
} from './procedures.ts'

/** How often a client may call `rationed`. */
export const RATION = 2

/** Users whose stream resolvers are still running. */
export const streaming = new Set<string>()

/** Emits when a call of `slow` begins. */
export const slowCalls = new EventEmitter()

export const appRouter = router({
  health: publicProcedure.query(() => ({ ok: true })),
  me: protectedProcedure.query(({ ctx }) => ctx.user.id),
  slow: protectedProcedure.query(async () => {
    slowCalls.emit('begun')
    return setTimeout(300, 'done')
  }),
  address: protectedProcedure.query(({ ctx }) => ctx.auth.address()),
  rationed: protectedProcedure
    .use(rateLimit({ points: RATION, duration: 60, by: 'address' }))
    .query(() => 'served'),
  say: protectedProcedure.input(z.string()).mutation(({ input }) => input.length),
  users: adminProcedure.query(() => 'all of them'),
  rotate: sensitiveProcedure.mutation(({ ctx }) => ctx.session.id),
  clock: protectedProcedure.subscription(async function* ({ ctx }) {
    streaming.add(ctx.user.id)
    try {
      yield 'ready'
      await setTimeout(60_000, undefined, { signal: ctx.auth.signal })
    } finally {
      streaming.delete(ctx.user.id)
    }
  }),
})
export type AppRouter = typeof appRouter
