import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { serveStatic } from '@hono/node-server/serve-static'
import { createServerAuth, inlineJson } from '@sallyport/trpc/ssr'
import { dehydrate } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { type Context, Hono } from 'hono'
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

pages.use('/assets/*', serveStatic({ root: fileURLToPath(new URL('client', DIST)), onFound: keepForever }))

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

pages.get('/', (c) => c.redirect('/notes'))

pages.get('*', async (c) => {
  const { createQueryClient, render, routes } = await loadWeb()
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
  else if (route?.audience === 'anyone') await page.prefetch(queryClient, queries)

  const { state } = page
  const rendered: Web.Rendered = { state, queries: dehydrate(queryClient) }
  const nonce = c.get('secureHeadersNonce') ?? ''
  const markup = await render({ path: c.req.path, state, queryClient, nonce })
  const { script, styles } = loadAssets()

  // All that is in the head of the answer is known before its first byte.
  for (const setCookie of page.setCookies) c.header('set-cookie', setCookie, { append: true })
  c.header('cache-control', 'private, no-store')
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

async function loadWeb(): Promise<typeof Web> {
  return await import(new URL('server/entry-server.js', DIST).href)
}

interface Assets {
  readonly script: string
  readonly styles: readonly string[]
}

function loadAssets(): Assets {
  const manifest: Record<string, { readonly file: string; readonly css?: readonly string[] }> = JSON.parse(
    readFileSync(new URL('client/.vite/manifest.json', DIST), 'utf8'),
  )
  const entry = manifest['src/web/entry-client.tsx']
  if (entry === undefined) throw new Error('The pages have not been built: npx -y pnpm start does it')
  return { script: `/${entry.file}`, styles: (entry.css ?? []).map((file) => `/${file}`) }
}
