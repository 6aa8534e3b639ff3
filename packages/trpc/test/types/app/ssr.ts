import type { AuthConfig } from '@sallyport/core'
import type { Auth } from '@sallyport/core/auth'
import { createAuthContext } from '@sallyport/trpc'
import { createAuthClient } from '@sallyport/trpc/client'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { infiniteQueryOptions, QueryClient } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { type Context, router } from './procedures.ts'
import { holds, type Same } from './same.ts'

/** The page of a user, with the very methods of an app's auth server and query client. */
export async function renderPage(config: AuthConfig, auth: Auth, db: Context['db'], request: Request) {
  const serverAuth = createServerAuth({ config, token: auth.handler })
  const page = await serverAuth(request, { remoteAddress: undefined })
  const queryClient = new QueryClient()
  const ctx = () => ({ ...createAuthContext(config).headers(page.headers), db, requestId: 'r1' })
  const trpc = createTRPCOptionsProxy({ router, ctx, queryClient })
  const pages = infiniteQueryOptions({
    queryKey: ['pages'],
    queryFn: () => 1,
    initialPageParam: 0,
    getNextPageParam: () => null,
  })
  await page.prefetch(queryClient, [trpc.columns.queryOptions(), pages])
  const id = await page.call(async (headers) => headers.get('x-request-id'))
  holds<Same<typeof id, string | null>>()
  holds<Same<typeof page.state, HydrationState>>()
  createAuthClient<typeof auth.api>({ hydrate: page.state })
  // @ts-expect-error a query has a key
  await page.prefetch(queryClient, [{}])
  // @ts-expect-error the state is found out, not set
  page.state = { status: 'unauthenticated' }
  return serverAuth(request.headers)
}

/** An auth server elsewhere. */
export function elsewhere(config: AuthConfig): void {
  createServerAuth({ config, token: { url: 'https://auth.example.com', fetch } })
  // @ts-expect-error where is it?
  createServerAuth({ config, token: {} })
}
