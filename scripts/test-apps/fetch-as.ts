import assert from 'node:assert/strict'
import { type CookieFetch, cookieFetch } from '../../packages/trpc/test/support/cookie-fetch.ts'

/** Signs a user up, or in without a name, and returns a `fetch` with their cookies. */
export async function fetchAs(
  origin: string,
  user: { email: string; password: string; name?: string },
): Promise<CookieFetch> {
  const browser = cookieFetch({ origin, 'content-type': 'application/json' })
  const path = user.name === undefined ? 'sign-in/email' : 'sign-up/email'
  const body = JSON.stringify(user)
  const response = await browser.fetch(`${origin}/api/auth/${path}`, { method: 'POST', body })
  assert.equal(response.status, 200, await response.clone().text())
  return browser
}
