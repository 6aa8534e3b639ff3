export function parseSetCookie(setCookie: string): { name: string; value: string } {
  const [pair = ''] = setCookie.split(';')
  const equals = pair.indexOf('=')
  return { name: pair.slice(0, equals).trim(), value: pair.slice(equals + 1).trim() }
}

/** Returns request headers after a browser has stored these cookies. An empty value deletes a cookie. */
export function withCookies(headers: Headers, setCookies: readonly string[]): Headers {
  const cookies = setCookies.map(parseSetCookie)
  const added = cookies.filter(({ value }) => value !== '').map(({ name, value }) => `${name}=${value}`)
  const names = new Set(cookies.map(({ name }) => name))
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.replace(WHITE_SPACE, ''))
  const kept = pairs.filter((pair) => pair !== '' && !names.has(pair.split('=', 1)[0] ?? ''))
  const result = new Headers(headers)
  result.delete('cookie')
  const all = [...kept, ...added]
  if (all.length > 0) result.set('cookie', all.join('; '))
  return result
}

/** Not `trim()`: other white space belongs to the value (RFC 9110 section 5.6.3). */
const WHITE_SPACE = /^[ \t]+|[ \t]+$/g
