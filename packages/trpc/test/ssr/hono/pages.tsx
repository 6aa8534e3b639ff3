import { type createServerAuth, type HydrationState, inlineJson } from '@sallyport/trpc/ssr'
import { type DehydratedState, dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { Hono } from 'hono'
import { renderToString } from 'react-dom/server'
import { App, createClients, Providers } from './app.tsx'
import type { Context } from './context.ts'
import { createQueryClient } from './query-client.ts'
import { appRouter } from './router.ts'

/** What a page sends to its script. */
export interface Rendered {
  readonly state: HydrationState
  readonly queries: DehydratedState
}

export function createPages(
  serverAuth: ReturnType<typeof createServerAuth>,
  pageContext: (headers: Headers) => Context,
): Hono {
  return new Hono().get('/notes', async (c) => {
    const page = await serverAuth(c.req.raw)
    if (page.reason === 'ACCOUNT_BANNED') return c.text('Account banned', 403)

    const queryClient = createQueryClient()
    const ctx = () => pageContext(page.headers)
    const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
    await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
    const rendered: Rendered = { state: page.state, queries: dehydrate(queryClient) }
    const markup = renderToString(
      <Providers {...createClients(page.state)} queryClient={queryClient}>
        <App />
      </Providers>,
    )

    for (const setCookie of page.setCookies) c.header('set-cookie', setCookie, { append: true })
    c.header('cache-control', 'private, no-store')
    return c.html(`<!doctype html><title>Notes</title><div id="root">${markup}</div>
<script type="application/json" id="rendered">${inlineJson(rendered)}</script>
<script type="module" src="/page.js"></script>`)
  })
}
