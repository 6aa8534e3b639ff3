import { createServerAuth } from '@sallyport/trpc/ssr'
import { type NextRequest, NextResponse } from 'next/server'
import { authConfig } from './auth.config.ts'

const serverAuth = createServerAuth({
  config: authConfig,
  token: { url: process.env.AUTH_URL ?? 'http://localhost:3000' },
})

/** Refreshes the JWT before server components run, because they can't set cookies. */
export async function proxy(request: NextRequest) {
  const page = await serverAuth(request)
  const response = NextResponse.next({ request: { headers: page.headers } })
  for (const setCookie of page.setCookies) response.headers.append('set-cookie', setCookie)
  return response
}

export const config = {
  matcher: [
    {
      source: '/((?!api|trpc|_next/static|_next/image|favicon.ico).*)',
      // Prefetches of the router.
      missing: [{ type: 'header', key: 'next-router-prefetch' }],
    },
  ],
}
