import { type IncomingHttpHeaders, request } from 'node:http'
import type { Reason } from '@sallyport/core'
import type { TestServer } from './start-server.ts'

/** A response on the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The reason in the body, which is JSON, JSON lines, or server-sent events. Null without a reason. */
  readonly reason: Reason | null
}

/** Sends a request with exactly these headers. `fetch` would add others. */
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
        // An accepted subscription doesn't end.
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
