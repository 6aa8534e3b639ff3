import { cookieFetch } from '../support/cookie-fetch.ts'

/** The statuses of a Server Action. */
export type ActionStatuses = Readonly<Record<'ofUser' | 'withoutSession' | 'ofOtherSite', number>>

/** Signs a user up, and submits the form of a Server Action as a browser without scripts does. */
export async function submitAction(origin: string): Promise<ActionStatuses> {
  const browser = cookieFetch({ origin })
  const user = { email: 'alan@example.com', password: 'a long enough password', name: 'Alan' }
  const response = await browser.fetch(`${origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const cookie = browser.header()
  return {
    ofUser: await submit(origin, { cookie, origin }),
    withoutSession: await submit(origin, { origin }),
    ofOtherSite: await submit(origin, { cookie, origin: 'https://example.com' }),
  }
}

async function submit(origin: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const html = await (await fetch(`${origin}/keys`)).text()
  const body = new FormData()
  for (const [, name = ''] of html.matchAll(/name="(\$ACTION_ID_[^"]+)"/g)) body.set(name, '')
  const response = await fetch(`${origin}/keys`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.status
}
