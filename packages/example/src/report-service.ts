import { TRPCError } from '@trpc/server'
import * as z from 'zod'
import { env, isProduction } from './env.ts'

/** For the outside service. */
const TIME_LIMIT_MS = 10_000

const SAMPLE_URL = `http://localhost:${env.PORT}/report-service`

/** A line of the response: the progress, or the report. */
const lineSchema = z.union([z.object({ percent: z.number() }), z.object({ text: z.string() })])

interface WriteOptions {
  readonly signal: AbortSignal
  readonly onProgress: (percent: number) => void
}

/** Requests a report from the outside service. The signal aborts it when the session ends. */
export async function writeReport(
  request: { readonly title: string; readonly locale: string },
  { signal, onProgress }: WriteOptions,
): Promise<string> {
  const url = env.REPORT_SERVICE_URL ?? (isProduction ? undefined : SAMPLE_URL)
  if (url === undefined)
    throw new TRPCError({ code: 'NOT_IMPLEMENTED', message: 'REPORT_SERVICE_URL is not set' })
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]),
    })
    if (!response.ok) throw new Error(`The report service responded with ${response.status}`)
    return await readReport(response, onProgress)
  } catch (cause) {
    // If the session has ended, throw its reason.
    signal.throwIfAborted()
    throw new TRPCError({
      code: 'BAD_GATEWAY',
      message: 'The report service is unavailable. Try again.',
      cause,
    })
  }
}

/** Returns the report: the whole response, or the last line of one with progress. */
async function readReport(response: Response, onProgress: WriteOptions['onProgress']): Promise<string> {
  const type = response.headers.get('content-type')
  if (response.body === null || type !== 'application/x-ndjson') return response.text()
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const parsed = lineSchema.parse(JSON.parse(line))
      if ('text' in parsed) return parsed.text
      onProgress(parsed.percent)
    }
  }
  throw new Error('The report service closed the response early')
}
