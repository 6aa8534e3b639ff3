import { cookieFetch } from '../support/cookie-fetch.ts'

/** What a new user sees: the responses of the app's parts. */
export interface Visit {
  /** The result of a mutation with a body of 90 KB. */
  readonly saved: unknown
  /** Of a full page load with an expired JWT: its HTML, and the names of the cookies it set. */
  readonly page: { readonly html: string; readonly setCookies: readonly string[] }
  /** The statuses of a Server Action. */
  readonly actions: Readonly<Record<'ofUser' | 'withoutSession' | 'ofOtherSite', number>>
}

/** Signs a user up, and uses the app as their browser would. */
export async function visit(origin: string, email: string): Promise<Visit> {
  const browser = cookieFetch({ origin })
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const response = await browser.fetch(`${origin}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  await post('/api/auth/sign-up/email', { email, password: 'a long enough password', name: 'Ada' })
  const saved = await post('/api/trpc/save', 'x'.repeat(90_000))

  const withoutJwt = browser.header().replace(/[^; ]+\.jwt=[^;]*;? ?/, '')
  const response = await fetch(`${origin}/me`, { headers: { cookie: withoutJwt } })
  const setCookies = response.headers.getSetCookie().map((setCookie) => setCookie.split('=')[0] ?? '')
  const page = { html: await response.text(), setCookies }
  const cookie = browser.header()
  const actions = {
    ofUser: await act(origin, { cookie, origin }),
    withoutSession: await act(origin, { origin }),
    ofOtherSite: await act(origin, { cookie, origin: 'https://example.com' }),
  }
  return { saved, page, actions }
}

/** Submits the form of a Server Action as a browser without scripts does. */
async function act(origin: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const html = await (await fetch(`${origin}/keys`)).text()
  const body = new FormData()
  for (const [, name = ''] of html.matchAll(/name="(\$ACTION_ID_[^"]+)"/g)) body.set(name, '')
  const response = await fetch(`${origin}/keys`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.status
}
