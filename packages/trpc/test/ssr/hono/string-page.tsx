import type { DatabaseContext } from '@sallyport/trpc'
import { inlineJson, type ServerAuth } from '@sallyport/trpc/ssr'
import { dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { renderToString } from 'react-dom/server'
import { App, createClients, createQueryClient } from './app.tsx'
import { appRouter } from './router.ts'

/** The page at `/notes`, all of it at once. */
export async function renderPage(page: ServerAuth, ctx: () => DatabaseContext): Promise<Response> {
  const queryClient = createQueryClient()
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
  await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
  const { state } = page
  const markup = renderToString(<App {...createClients(state)} queryClient={queryClient} />)
  const rendered = inlineJson({ state, queries: dehydrate(queryClient) })
  const html = `<!doctype html><title>Notes</title><div id="root">${markup}</div>
<script type="application/json" id="rendered">${rendered}</script><script type="module" src="/page.js"></script>`
  const response = new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } })
  for (const setCookie of page.setCookies) response.headers.append('set-cookie', setCookie)
  return response
}
