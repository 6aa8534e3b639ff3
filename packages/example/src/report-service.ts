import { TRPCError } from '@trpc/server'
import { env, isProduction } from './env.ts'

/** An outside service may take so long. */
const TIME_LIMIT_MS = 10_000

const OWN_URL = `http://localhost:${env.PORT}/report-service`

/** Has a report written by an outside service, until the signal says that nobody may have it any more. */
export async function writeReport(
  order: { readonly title: string; readonly locale: string },
  { signal }: { signal: AbortSignal },
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
    return await response.text()
  } catch (cause) {
    // Why the session ended, not that the service was left.
    signal.throwIfAborted()
    throw new TRPCError({ code: 'BAD_GATEWAY', message: 'The report service does not answer', cause })
  }
}
