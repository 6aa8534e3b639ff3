import { type NextRequest, NextResponse } from 'next/server.js'
import { createServerAuth, type ServerAuthOptions } from '../ssr/create-server-auth.ts'

/**
 * Creates the function of `proxy.ts`. It refreshes the JWT before server components run, because they can't
 * set cookies. It also runs in an edge runtime if `token` is a URL.
 *
 * @example export const proxy = createProxy({ config: authConfig, token: auth.handler })
 */
export function createProxy(options: ServerAuthOptions): (request: NextRequest) => Promise<NextResponse> {
  const serverAuth = createServerAuth(options)
  return async (request) => {
    const { headers, setCookies } = await serverAuth(request)
    const response = NextResponse.next({ request: { headers } })
    // Next.js lets shared caches store static pages.
    if (setCookies.length > 0) response.headers.set('cache-control', 'private, no-store')
    for (const setCookie of setCookies) response.headers.append('set-cookie', setCookie)
    return response
  }
}
