import { html } from 'hono/html'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { PROVIDER_PATH } from './app-at-provider.ts'
import { PEOPLE } from './people.ts'

const STYLE = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  main { max-width: 24rem; margin: 15vh auto; padding: 0 1rem }
  form { display: grid; gap: 0.75rem }
  button { font: inherit; padding: 0.6rem }`

/** The only page of the demo provider: a button for each person. */
export function choicePage(context: Pick<KoaContextWithOIDC, 'path' | 'body' | 'set'>): void {
  const nonce = crypto.randomUUID()
  context.set({
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  })
  context.body = String(html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Demo provider</title>
        <style nonce="${nonce}">
          ${STYLE}
        </style>
      </head>
      <body>
        <main>
          <h1>Demo provider</h1>
          <p>This provider is only for development. It asks for no password. Who are you?</p>
          <form method="post">
            ${Object.entries(PEOPLE).map(
              ([sub, { name, email }]) =>
                html`<button formaction="${PROVIDER_PATH}${context.path}/${sub}">
                  Continue as ${name} (${email})
                </button>`,
            )}
          </form>
        </main>
      </body>
    </html>`)
}
