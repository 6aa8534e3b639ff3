import { AUTH_PATH, CLIENT_HEADER } from '@sallyport/core/internal/protocol'

const BASE_URL = 'http://localhost:3000'

/** A GET of an auth endpoint by our own client. */
export function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(`${BASE_URL}${AUTH_PATH}${path}`, { headers: { [CLIENT_HEADER]: '1', ...headers } })
}

/** A POST to an auth endpoint by our own client, with a JSON body where one is given. */
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

/** What a browser sends next time: its cookies, changed as the answer says. */
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

/** The names of the cookies that an answer sets, and of those that it deletes. */
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
