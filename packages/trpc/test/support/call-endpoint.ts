import type { TestServer } from './start-server.ts'
import type { Visitor } from './visitor.ts'

/** Calls an auth endpoint over HTTP, as the visitor's page does. */
export function callEndpoint(
  server: TestServer,
  visitor: Visitor,
  { method, path, body }: { method: 'GET' | 'POST'; path: string; body?: object },
): Promise<Response> {
  return fetch(`http://${server.host}/api/auth${path}`, {
    method,
    headers: { ...visitor.headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  })
}

/** Returns the visitor with the headers after a response set or deleted cookies. */
export function withCookiesOf(response: Response, visitor: Visitor): Visitor {
  const jar = new Map<string, string>()
  for (const pair of (visitor.headers.cookie ?? '').split('; ')) jar.set(nameOf(pair), pair)
  for (const header of response.headers.getSetCookie()) {
    const [pair = ''] = header.split('; ')
    if (header.includes('Max-Age=0')) jar.delete(nameOf(pair))
    else jar.set(nameOf(pair), pair)
  }
  return { ...visitor, headers: { ...visitor.headers, cookie: [...jar.values()].join('; ') } }
}

function nameOf(pair: string): string {
  return pair.slice(0, pair.indexOf('='))
}
