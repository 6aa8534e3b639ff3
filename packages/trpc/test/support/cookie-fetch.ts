/** A `fetch` that keeps cookies as a browser does, for one site. */
export interface CookieFetch {
  readonly fetch: typeof globalThis.fetch
  /** What it has now, by name. */
  readonly cookies: ReadonlyMap<string, string>
}

/** @param headers sent along with every request */
export function cookieFetch(headers: Readonly<Record<string, string>> = {}): CookieFetch {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async fetch(input, init) {
      const sent = new Headers({ ...headers, cookie: [...cookies].map((pair) => pair.join('=')).join('; ') })
      for (const [name, value] of new Headers(init?.headers)) sent.set(name, value)
      const response = await fetch(input, { ...init, headers: sent })
      for (const setCookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      return response
    },
  }
}
