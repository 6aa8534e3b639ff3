import type { DatabaseContext } from '@sallyport/trpc'
import { inlineJson, type ServerAuth } from '@sallyport/trpc/ssr'
import { dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { renderToReadableStream } from 'react-dom/server'
import { App, createClients, Providers } from './app.tsx'
import { createQueryClient } from './query-client.ts'
import { appRouter } from './router.ts'

/** The page at `/notes`, as a stream. */
export async function renderPage(page: ServerAuth, ctx: () => DatabaseContext): Promise<Response> {
  const queryClient = createQueryClient()
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient })
  await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
  const { state } = page
  const markup = await renderToReadableStream(
    <Providers {...createClients(state)} queryClient={queryClient}>
      <App />
    </Providers>,
  )
  const rendered = inlineJson({ state, queries: dehydrate(queryClient) })
  const html = new ReadableStream<string>({
    async start(controller) {
      controller.enqueue('<!doctype html><title>Notes</title><div id="root">')
      for await (const part of markup.pipeThrough(new TextDecoderStream())) controller.enqueue(part)
      controller.enqueue(`</div><script type="application/json" id="rendered">${rendered}</script>`)
      controller.enqueue('<script type="module" src="/page.js"></script>')
      controller.close()
    },
  }).pipeThrough(new TextEncoderStream())
  const response = new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } })
  for (const setCookie of page.setCookies) response.headers.append('set-cookie', setCookie)
  return response
}
