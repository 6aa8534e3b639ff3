import { fileURLToPath } from 'node:url'
import { serveStatic } from '@hono/node-server/serve-static'
import { createServerAuth, inlineJson } from '@sallyport/trpc/ssr'
import { dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { type Context, Hono } from 'hono'
import { compress } from 'hono/compress'
import { html, raw } from 'hono/html'
import { NONCE, secureHeaders } from 'hono/secure-headers'
import { stream } from 'hono/streaming'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { pageContext } from './context.ts'
import { remoteAddress } from './remote-address.ts'
import { appRouter } from './routers/app.ts'
import type * as Web from './web/entry-server.tsx'
import { APPEARANCE_SCRIPT } from './web/ui/appearance.ts'
import { ICON } from './web/ui/icon.ts'

/** What `vite build` has made. */
const DIST = new URL('../dist/', import.meta.url)

const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })

/** The pages: rendered here for whom the cookies name, and taken over by the browser. */
export const pages = new Hono()

pages.use(
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: [NONCE, "'strict-dynamic'"],
      styleSrc: ["'self'", NONCE],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  }),
)

pages.use(
  '/assets/*',
  compress(),
  serveStatic({ root: fileURLToPath(new URL('client', DIST)), onFound: keepForever }),
)

pages.get('/', (c) => c.redirect('/notes'))

pages.get('*', async (c) => {
  const { web, script, styles } = await loadBuild()
  const { createQueryClient, HOME, render, routes } = web
  const route = routes.find(({ path }) => path === c.req.path)
  const page = await serverAuth(c.req.raw, { remoteAddress: remoteAddress(c) })
  const queryClient = createQueryClient()
  const trpc = createTRPCOptionsProxy({
    router: appRouter,
    ctx: () => pageContext(page.headers),
    queryClient,
  })
  const queries = route?.queries?.(trpc) ?? []
  if (page.state.status === 'authenticated')
    await page.prefetch(queryClient, [trpc.me.queryOptions(), ...queries])
  else
    await page.prefetch(queryClient, [
      trpc.demo.queryOptions(),
      ...(route?.audience === 'anyone' ? queries : []),
    ])

  // All that is in the head of the answer is known before its first byte.
  for (const setCookie of page.setCookies) c.header('set-cookie', setCookie, { append: true })
  c.header('cache-control', 'private, no-store')
  const { state } = page
  if (state.status === 'authenticated' && route?.audience === 'strangers') return c.redirect(HOME)

  const rendered: Web.Rendered = { state, queries: dehydrate(queryClient) }
  const nonce = c.get('secureHeadersNonce') ?? ''
  const markup = await render({ path: c.req.path, state, queryClient, nonce })
  c.header('content-type', 'text/html; charset=utf-8')
  c.status(route === undefined ? 404 : page.reason === 'ACCOUNT_BANNED' ? 403 : 200)
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
})

/** Its name changes with its content. */
function keepForever(_path: string, c: Context): void {
  c.header('cache-control', 'public, max-age=31536000, immutable')
}

interface Build {
  readonly web: typeof Web
  readonly script: string
  readonly styles: readonly string[]
}

/** Read for the first page and kept by Node, so that what shows no page needs no build. */
async function loadBuild(): Promise<Build> {
  const [web, { default: manifest }] = await Promise.all([
    import(new URL('server/entry-server.js', DIST).href),
    import(new URL('client/.vite/manifest.json', DIST).href, { with: { type: 'json' } }),
  ]).catch((cause: unknown) => {
    throw new Error('The pages do not load; npx -y pnpm start builds them', { cause })
  })
  const entry: { readonly file: string; readonly css?: readonly string[] } =
    manifest['src/web/entry-client.tsx']
  return { web, script: `/${entry.file}`, styles: (entry.css ?? []).map((file) => `/${file}`) }
}
