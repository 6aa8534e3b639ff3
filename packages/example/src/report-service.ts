import { TRPCError } from '@trpc/server'
import * as z from 'zod'
import { env, isProduction } from './env.ts'

/** An outside service may take so long. */
const TIME_LIMIT_MS = 10_000

const OWN_URL = `http://localhost:${env.PORT}/report-service`

/** A line of a service that tells how far it is. */
const lineSchema = z.union([z.object({ percent: z.number() }), z.object({ text: z.string() })])

interface WriteOptions {
  readonly signal: AbortSignal
  readonly onProgress: (percent: number) => void
}

/** Has a report written by an outside service, until the signal says that nobody may have it any more. */
export async function writeReport(
  order: { readonly title: string; readonly locale: string },
  { signal, onProgress }: WriteOptions,
): Promise<string> {
  const url = env.REPORT_SERVICE_URL ?? (isProduction ? undefined : OWN_URL)
  if (url === undefined)
    throw new TRPCError({ code: 'NOT_IMPLEMENTED', message: 'REPORT_SERVICE_URL is not set' })
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]),
    })
    if (!response.ok) throw new Error(`The report service answered ${response.status}`)
    return await readReport(response, onProgress)
  } catch (cause) {
    // Why the session ended, not that the service was left.
    signal.throwIfAborted()
    throw new TRPCError({ code: 'BAD_GATEWAY', message: 'The report service does not answer', cause })
  }
}

/** The text: all of the answer, or the last line of one that tells how far it is. */
async function readReport(response: Response, onProgress: WriteOptions['onProgress']): Promise<string> {
  const type = response.headers.get('content-type')
  if (response.body === null || type !== 'application/x-ndjson') return response.text()
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const told = lineSchema.parse(JSON.parse(line))
      if ('text' in told) return told.text
      onProgress(told.percent)
    }
  }
  throw new Error('The report service broke off')
}
