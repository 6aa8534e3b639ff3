import { createServerAuth } from '@sallyport/trpc/ssr'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { headers } from 'next/headers'
import { cache } from 'react'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { pageContext } from './context.ts'
import { createQueryClient } from './query-client.ts'
import { appRouter } from './router.ts'

const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })

/** What the server components of one request share. */
export const getPage = cache(async () => {
  const page = await serverAuth(await headers())
  const queryClient = createQueryClient()
  const ctx = () => pageContext(page.headers)
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
  // Step 2, before the layout tells the browser who is signed in.
  await page.prefetch(queryClient, [trpc.me.queryOptions()])
  return { page, queryClient, trpc }
})
