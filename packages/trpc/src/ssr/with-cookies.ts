import type { AuthConfig } from '@sallyport/core'

/** The name and value of a `Set-Cookie`. */
export function parseSetCookie(setCookie: string): { name: string; value: string } {
  const [pair = ''] = setCookie.split(';')
  const equals = pair.indexOf('=')
  return { name: pair.slice(0, equals).trim(), value: pair.slice(equals + 1).trim() }
}

/** The headers of a request of the same browser after it was given these cookies: every `Set-Cookie` replaces its cookie, an empty one deletes it. */
export function withCookies(headers: Headers, setCookies: readonly string[]): Headers {
  const cookies = setCookies.map(parseSetCookie)
  const given = cookies.filter(({ value }) => value !== '').map(({ name, value }) => `${name}=${value}`)
  return replaced(headers, new Set(cookies.map(({ name }) => name)), given)
}

/** The headers of a request of a browser that is not signed in. */
export function withoutCookies(headers: Headers, { cookies }: AuthConfig): Headers {
  return replaced(headers, new Set([cookies.jwt, cookies.session]), [])
}

function replaced(headers: Headers, names: ReadonlySet<string>, given: readonly string[]): Headers {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.replace(WHITE_SPACE, ''))
  const kept = pairs.filter((pair) => pair !== '' && !names.has(pair.split('=', 1)[0] ?? ''))
  const changed = new Headers(headers)
  changed.delete('cookie')
  const all = [...kept, ...given]
  if (all.length > 0) changed.set('cookie', all.join('; '))
  return changed
}

/** Not `trim()`: what only JavaScript calls white space belongs to the value (RFC 9110 section 5.6.3), here as where cookies are read. */
const WHITE_SPACE = /^[ \t]+|[ \t]+$/g
