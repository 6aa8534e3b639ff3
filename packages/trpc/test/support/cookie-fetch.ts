/** A `fetch` that stores cookies like a browser, for one site. */
export interface CookieFetch {
  readonly fetch: typeof globalThis.fetch
  /** The current cookies, by name. */
  readonly cookies: ReadonlyMap<string, string>
  /** Returns them as a `Cookie` header. */
  header(): string
}

/**
 * @param headers sent with every request
 * @param cookie the initial cookies, as a `Cookie` header
 * @param send sends the requests
 */
export function cookieFetch(
  headers: Readonly<Record<string, string>> = {},
  cookie = '',
  send: typeof globalThis.fetch = (input, init) => fetch(input, init),
): CookieFetch {
  const cookies = new Map<string, string>()
  const header = () => [...cookies].map((pair) => pair.join('=')).join('; ')

  function take(pair: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(pair) ?? []
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
  }

  cookie.split('; ').forEach(take)
  return {
    cookies,
    header,
    async fetch(input, init) {
      const sent = new Headers({ ...headers, cookie: header() })
      for (const [name, value] of new Headers(init?.headers)) sent.set(name, value)
      const response = await send(input, { ...init, headers: sent })
      response.headers.getSetCookie().forEach(take)
      return response
    },
  }
}
