/** A server's response, or a network failure. */
export type Answer = () => Response | Promise<Response>

/** A sent request, whose response may be pending. */
export interface SentRequest {
  readonly path: string
  readonly headers: Headers
  readonly init: RequestInit
}

/** Creates a `fetch` without a network: each request gets the test's response for its path. */
export function scriptFetch(): {
  readonly fetch: typeof globalThis.fetch
  readonly sent: SentRequest[]
  answer(path: string, answer: Answer): void
  count(path: string): number
} {
  const answers = new Map<string, Answer>()
  const sent: SentRequest[] = []
  return {
    async fetch(input, init = {}) {
      const path = new URL(input instanceof Request ? input.url : input, 'http://localhost').pathname.replace(
        '/api/auth',
        '',
      )
      sent.push({ path, headers: new Headers(init.headers), init })
      const answer = answers.get(path)
      if (answer === undefined) throw new TypeError('fetch failed')
      return Promise.race([answer(), aborted(init.signal)])
    },
    sent,
    answer: (path, answer) => void answers.set(path, answer),
    count: (path) => sent.filter((request) => request.path === path).length,
  }
}

/** Creates a response of the token endpoint or of sign-in. */
export const tokens = (answer: object = {}): Response =>
  Response.json({ userId: 'ada', sessionId: 'ada-1', expiresIn: 900, expiresAt: '', ...answer })

/** Creates a rejection of an auth endpoint. */
export const rejection = (status: number, code: string, more: object = {}): Response =>
  Response.json({ code, message: code, ...more }, { status })

function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
}
