import { AUTH_PATH, CLIENT_HEADER } from '@sallyport/core/internal/protocol'

const BASE_URL = 'http://localhost:3000'

/** Returns a GET of an auth endpoint by the client package. */
export function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(`${BASE_URL}${AUTH_PATH}${path}`, { headers: { [CLIENT_HEADER]: '1', ...headers } })
}

/** Returns a POST to an auth endpoint by the client package, with a JSON body if one is given. */
export function post(path: string, body?: unknown, headers: Record<string, string> = {}): Request {
  return new Request(`${BASE_URL}${AUTH_PATH}${path}`, {
    method: 'POST',
    headers: {
      [CLIENT_HEADER]: '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** Returns the cookies that a browser sends next, after the changes of the response. */
export function cookiesAfter(cookie: string, response: Response): string {
  const cookies = new Map(cookie === '' ? [] : cookie.split('; ').map((pair) => nameAndValue(pair)))
  for (const header of response.headers.getSetCookie()) {
    const [pair = '', ...attributes] = header.split('; ')
    const [name, value] = nameAndValue(pair)
    if (attributes.includes('Max-Age=0')) cookies.delete(name)
    else cookies.set(name, value)
  }
  return [...cookies].map((pair) => pair.join('=')).join('; ')
}

/** Returns the names of the cookies that a response sets, and of those that it deletes. */
export function cookieChanges(response: Response): { set: string[]; cleared: string[] } {
  const changes: { set: string[]; cleared: string[] } = { set: [], cleared: [] }
  for (const header of response.headers.getSetCookie()) {
    const [name, value] = nameAndValue(header.split(';')[0] ?? '')
    if (value === '' && header.includes('; Max-Age=0;')) changes.cleared.push(name)
    else changes.set.push(name)
  }
  return changes
}

function nameAndValue(pair: string): [string, string] {
  const equals = pair.indexOf('=')
  return [pair.slice(0, equals), pair.slice(equals + 1)]
}
