/** Returns whether this isn't a browser, a browser's worker, or React Native. */
export function isOnServer(): boolean {
  return !globalThis.window && !globalThis.location
}

/** Returns a `fetch` that sends a page's cookies to the origin of `baseUrl`, and to no redirect's target. */
export function forwardCookies(
  fetch: typeof globalThis.fetch,
  { baseUrl, cookie }: { baseUrl: string; cookie: string | null | undefined },
): typeof globalThis.fetch {
  if (!cookie || !baseUrl) return fetch
  const { origin } = new URL(baseUrl)
  return async (input, init) => {
    if (new URL((input as Partial<Request>).url ?? String(input)).origin !== origin) return fetch(input, init)
    const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers)
    headers.set('cookie', cookie)
    return fetch(input, { ...init, headers, redirect: 'manual' })
  }
}
