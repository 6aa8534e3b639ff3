import { setInterval } from 'node:timers/promises'
import * as z from 'zod'
import { protectedProcedure } from '../procedures.ts'

/** The time, again and again, until the client leaves or the session ends. */
export const clock = protectedProcedure
  .input(z.object({ intervalMs: z.number().int().min(10).max(60_000) }))
  .subscription(async function* ({ ctx, input, signal }) {
    const ended = signal === undefined ? ctx.auth.signal : AbortSignal.any([signal, ctx.auth.signal])
    for await (const _ of setInterval(input.intervalMs, undefined, { signal: ended })) {
      yield { now: new Date().toISOString() }
    }
  })
