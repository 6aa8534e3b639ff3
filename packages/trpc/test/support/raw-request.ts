import { type IncomingHttpHeaders, request } from 'node:http'
import type { Reason } from '@sallyport/core'
import type { TestServer } from './start-server.ts'

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The reason in the body, whether it is JSON, JSON lines or server-sent events; null when there is none. */
  readonly reason: Reason | null
}

/** Sends a request with exactly these headers; `fetch` would add some of its own. */
export function rawRequest(
  server: TestServer,
  options: { method?: string; path: string; headers: Record<string, string>; body?: string },
): Promise<RawAnswer> {
  const { method = 'GET', path, headers, body } = options
  return new Promise((resolve, reject) => {
    const sent = request(`http://${server.host}${path}`, { method, headers }, async (response) => {
      let text = ''
      for await (const chunk of response) {
        text += String(chunk)
        // A subscription that was let in does not end by itself.
        if (text.includes('"ready"')) break
      }
      const reason = /"reason":"(\w+)"/.exec(text)?.[1] ?? null
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: text,
        reason: reason as Reason | null,
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
