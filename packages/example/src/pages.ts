import { fileURLToPath } from 'node:url'
import { serveStatic } from '@hono/node-server/serve-static'
import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { NONCE, secureHeaders } from 'hono/secure-headers'
import { DIST } from './load-build.ts'
import { receiveForm } from './receive-form.ts'
import { renderPage } from './render-page.ts'

/** Adds the pages. The server renders them for the user in the cookies, and React hydrates them. */
export function addPages(app: Hono): void {
  // The last page of a pop-up. With a `Cross-Origin-Opener-Policy`, its opener couldn't read its URL.
  app.get('/popup.html', (c) => c.html(''))

  app.use(
    secureHeaders({
      crossOriginOpenerPolicy: 'same-origin-allow-popups',
      // With `no-referrer`, browsers would send `Origin: null` with a form, which the origin check rejects.
      referrerPolicy: 'same-origin',
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

  app.use(
    '/assets/*',
    compress(),
    serveStatic({ root: fileURLToPath(new URL('client', DIST)), onFound: cacheForever }),
  )

  app.get('/', (c) => c.redirect('/notes'))

  for (const path of ['/sign-in', '/sign-up', '/sign-out', '/forgot-password'] as const)
    app.post(path, bodyLimit({ maxSize: MAX_PAYLOAD_BYTES }), (c) => receiveForm(c, path))

  app.get('*', (c) => renderPage(c))
}

/** The file names contain a hash of the content. */
function cacheForever(_path: string, c: Context): void {
  c.header('cache-control', 'public, max-age=31536000, immutable')
}
