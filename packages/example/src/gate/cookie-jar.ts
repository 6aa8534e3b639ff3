/** The cookies of a browser, and a `fetch` that sends them. */
export interface CookieJar {
  /** The `Cookie` header. */
  header(): string
  /** The last `Set-Cookie` value of each cookie, including deleted ones. */
  setCookies(): string[]
  take(setCookies: readonly string[]): void
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
}

/** Creates an empty jar for one site. `send` sends its requests. */
export function createCookieJar(send: (request: Request) => Response | Promise<Response>): CookieJar {
  const cookies = new Map<string, string>()

  function header(): string {
    const pairs = Array.from(cookies.values(), (setCookie) => setCookie.split(';')[0] ?? '')
    return pairs.filter((pair) => !pair.endsWith('=')).join('; ')
  }

  function take(setCookies: readonly string[]): void {
    for (const setCookie of setCookies) cookies.set(setCookie.slice(0, setCookie.indexOf('=')), setCookie)
  }

  return {
    header,
    setCookies: () => [...cookies.values()],
    take,
    async fetch(input, init) {
      const request = new Request(input, init)
      request.headers.set('cookie', header())
      const response = await send(request)
      take(response.headers.getSetCookie())
      return response
    },
  }
}
