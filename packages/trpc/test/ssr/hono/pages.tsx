import type { HydrationState } from '@sallyport/trpc/ssr'
import { type createServerAuth, inlineJson } from '@sallyport/trpc/ssr'
import { type DehydratedState, dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import { renderToReadableStream } from 'react-dom/server'
import { App, createClients, createQueryClient } from './app.tsx'
import type { Context } from './context.ts'
import { appRouter } from './router.ts'

// In development Vite compiles it for each request.
const SCRIPT = process.env.NODE_ENV === 'development' ? '/src/entry-client.tsx' : '/page.js'

/** What a page tells its script. */
export interface Rendered {
  readonly state: HydrationState
  readonly queries: DehydratedState
}

export function createPages(
  serverAuth: ReturnType<typeof createServerAuth>,
  pageContext: (headers: Headers) => Context,
): Hono {
  const pages = new Hono()

  pages.get('/notes', async (c) => {
    const page = await serverAuth(c.req.raw)
    if (page.reason === 'ACCOUNT_BANNED') return c.text('Account banned', 403)

    const queryClient = createQueryClient()
    const ctx = () => pageContext(page.headers)
    const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
    await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
    const { state } = page
    const rendered: Rendered = { state, queries: dehydrate(queryClient) }

    // All that is in the head of the answer is known before its first byte.
    for (const setCookie of page.setCookies) c.header('set-cookie', setCookie, { append: true })
    c.header('cache-control', 'private, no-store')
    c.header('content-type', 'text/html; charset=utf-8')
    const markup = await renderToReadableStream(<App {...createClients(state)} queryClient={queryClient} />)
    return stream(c, async (html) => {
      await html.write(
        '<!doctype html><html lang="en"><head><title>Notes</title></head><body><div id="root">',
      )
      await html.pipe(markup)
      await html.write(`</div><script type="application/json" id="rendered">${inlineJson(rendered)}</script>`)
      await html.write(`<script type="module" src="${SCRIPT}"></script></body></html>`)
    })
  })

  return pages
}
