import assert from 'node:assert/strict'
import { fetchAs } from './fetch-as.ts'
import type { ServedApp } from './proofs.ts'

/** Proves that the page of a banned user is 403, also without a valid JWT. */
export async function proveBanStatus({ origin, ban }: Pick<ServedApp, 'origin' | 'ban'>): Promise<void> {
  const email = 'kim@example.com'
  const browser = await fetchAs(origin, { name: 'Kim', email, password: 'a long enough password' })
  await ban(email)
  // Without the JWT, as browsers send it once it expired.
  const withoutJwt = `service.session=${browser.cookies.get('service.session')}`
  for (const cookie of [browser.header(), withoutJwt])
    assert.equal((await fetch(`${origin}/me`, { headers: { cookie } })).status, 403)
}
