import { initTRPC } from '@trpc/server'
import * as z from 'zod'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create()
const { procedure } = t

export const appRouter = t.router({
  me: procedure.query(() => ({ email: 'anonymous' })),
  save: procedure.input(z.string()).mutation(({ input }) => input.length),
  ticks: procedure.subscription(async function* ({ signal }) {
    for (let tick = 1; !signal?.aborted; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),
})
export type AppRouter = typeof appRouter
