import { createServerAuth, inlineJson } from '@sallyport/trpc/ssr'
import { dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import type { Context } from 'hono'
import { html, raw } from 'hono/html'
import { stream } from 'hono/streaming'
import type { StatusCode } from 'hono/utils/http-status'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { pageContext } from './context.ts'
import { loadBuild } from './load-build.ts'
import { remoteAddress } from './remote-address.ts'
import { appRouter } from './routers/app.ts'
import type { FormResult } from './web/form-result.ts'
import type { Rendered } from './web/rendered.ts'
import { APPEARANCE_SCRIPT } from './web/ui/appearance.ts'
import { ICON } from './web/ui/icon.ts'

const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })

interface FormResponse {
  readonly result: FormResult
  readonly status: number
}

/** Renders the page of a request for the user in its cookies, perhaps with the outcome of a form. */
export async function renderPage(c: Context, form?: FormResponse): Promise<Response> {
  const { web, script, styles } = await loadBuild()
  const { createQueryClient, matchPage, nextPath, render } = web
  const url = new URL(c.req.url)
  const { route, params } = matchPage(url.pathname)
  const page = await serverAuth(c.req.raw, { remoteAddress: remoteAddress(c) })
  const queryClient = createQueryClient()
  const context = () => pageContext(page.headers)
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx: context, queryClient })
  const queries = route?.queries?.(trpc, { params, search: url.searchParams }) ?? []
  if (page.state.status === 'authenticated')
    await page.prefetch(queryClient, [trpc.me.queryOptions(), ...queries])
  else
    await page.prefetch(queryClient, [
      trpc.demo.queryOptions(),
      ...(route?.audience === 'anyone' ? queries : []),
    ])

  // Headers must be complete before the first byte of the body.
  for (const setCookie of page.setCookies) c.header('set-cookie', setCookie, { append: true })
  c.header('cache-control', 'private, no-store')
  const { state } = page
  if (state.status === 'authenticated' && route?.audience === 'guests')
    return c.redirect(nextPath(url.searchParams.get('next')))

  const rendered: Rendered = {
    state,
    queries: dehydrate(queryClient),
    now: Date.now(),
    form: form?.result ?? null,
  }
  const nonce = c.get('secureHeadersNonce') ?? ''
  const markup = await render({ url: url.pathname + url.search, rendered, queryClient, nonce })
  c.header('content-type', 'text/html; charset=utf-8')
  const pageStatus = route === undefined ? 404 : page.reason === 'ACCOUNT_BANNED' ? 403 : 200
  c.status((form?.status ?? pageStatus) as StatusCode)
  return stream(c, async (body) => {
    await body.write(
      String(html`<!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width, initial-scale=1" />
            <title>${route?.title ?? 'Not found'} – Sallyport</title>
            <link rel="icon" href="${ICON}" />
            ${styles.map((href) => html`<link rel="stylesheet" href="${href}" />`)}
            <script nonce="${nonce}">
              ${raw(APPEARANCE_SCRIPT)}
            </script>
            <script type="module" nonce="${nonce}" src="${script}"></script>
            <script type="application/json" id="rendered">
              ${raw(inlineJson(rendered))}
            </script>
          </head>
          <body>
            <div id="root">`),
    )
    await body.pipe(markup)
    await body.write('</div></body></html>')
  })
}
