import { setInterval } from 'node:timers/promises'
import * as z from 'zod'
import { protectedProcedure } from '../procedures.ts'

/** Yields the time until the client disconnects or the session ends. */
export const clock = protectedProcedure
  .input(z.object({ intervalMs: z.number().int().min(10).max(60_000) }))
  .subscription(async function* ({ ctx, input }) {
    for await (const _ of setInterval(input.intervalMs, undefined, { signal: ctx.auth.signal })) {
      yield { now: new Date().toISOString() }
    }
  })
