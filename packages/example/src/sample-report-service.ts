import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from 'hono'
import { stream } from 'hono/streaming'
import { env } from './env.ts'

const STEPS = 7

/** Replaces the outside service in development. Responds slowly, with its progress line by line. */
export async function sampleReportService(c: Context): Promise<Response> {
  const { title, locale } = await c.req.json()
  c.header('content-type', 'application/x-ndjson')
  return stream(c, async (body) => {
    for (let step = 0; step < STEPS; step++) {
      await body.write(`${JSON.stringify({ percent: Math.round((100 * step) / STEPS) })}\n`)
      await sleep(env.REPORT_STEP_MS)
    }
    await body.write(`${JSON.stringify({ text: `${locale === 'de' ? 'Bericht' : 'Report'}: ${title}` })}\n`)
  })
}
