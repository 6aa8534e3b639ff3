import { createServerAuth } from '@sallyport/trpc/ssr'
import { type NextRequest, NextResponse } from 'next/server'
import { authConfig } from './auth.config.ts'

const serverAuth = createServerAuth({
  config: authConfig,
  token: { url: process.env.AUTH_URL ?? 'http://localhost:3000' },
})

/** Server components cannot set cookies, so a JWT that is due is replaced before they are rendered. */
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
      // The router of Next.js asks for pages ahead of time.
      missing: [{ type: 'header', key: 'next-router-prefetch' }],
    },
  ],
}
