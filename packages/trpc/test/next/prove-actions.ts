import assert from 'node:assert/strict'
import type { ServedApp } from '../../../../scripts/test-apps/proofs.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'

/** Proves a Server Action, with the requests that scripts of Next.js send. */
export async function proveActions({ origin, ban }: Pick<ServedApp, 'origin' | 'ban'>): Promise<void> {
  const browser = cookieFetch({ origin })
  const user = { email: 'alan@example.com', password: 'a long enough password', name: 'Alan' }
  const response = await browser.fetch(`${origin}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })
  assert.equal(response.status, 200)
  const cookie = browser.header()
  const withoutJwt = { cookie: cookie.replace(/[^; ]+\.jwt=[^;]*;? ?/, ''), origin }
  // The matcher of the proxy excludes requests with this header.
  const withoutProxy = { ...withoutJwt, 'next-router-prefetch': '1' }

  const newCookie = 'service.jwt; httponly; max-age=900; path=/; samesite=lax'
  assert.deepEqual(
    {
      ofUser: await act(origin, { cookie, origin }),
      withoutSession: await act(origin, { origin }),
      withoutOrigin: await act(origin, { cookie }),
      withoutJwt: await act(origin, withoutJwt),
      withoutJwtAndProxy: await act(origin, withoutProxy),
    },
    {
      ofUser: [200],
      withoutSession: [500, 'TOKEN_MISSING'],
      withoutOrigin: [500, 'ORIGIN_REJECTED'],
      withoutJwt: [200, newCookie],
      withoutJwtAndProxy: [200, newCookie],
    },
  )
  // Next.js rejects this one.
  const [status] = await act(origin, { cookie, origin: 'https://example.com' })
  assert.equal(status, 500)

  await ban(user.email)
  assert.deepEqual(
    { banned: await act(origin, { cookie, origin }), withoutJwt: await act(origin, withoutProxy) },
    { banned: [500, 'ACCOUNT_BANNED'], withoutJwt: [500, 'ACCOUNT_BANNED'] },
  )
}

/** Returns the status of the response, the digest of its error, and its new cookies without values. */
async function act(origin: string, headers: Readonly<Record<string, string>>): Promise<(number | string)[]> {
  const page = await (await fetch(`${origin}/keys`)).text()
  const [, id = ''] = /name="\$ACTION_ID_([^"]+)"/.exec(page) ?? []
  const response = await fetch(`${origin}/keys`, {
    method: 'POST',
    headers: { ...headers, 'next-action': id, accept: 'text/x-component' },
    body: '[]',
  })
  const digests = [...(/"digest":"([^"]+)"/.exec(await response.text())?.slice(1) ?? [])]
  return [response.status, ...digests, ...response.headers.getSetCookie().map(attributesOf)]
}

function attributesOf(setCookie: string): string {
  const [name, ...attributes] = setCookie
    .replace(/=[^;]*/, '')
    .toLowerCase()
    .split('; ')
  return [name, ...attributes.filter((attribute) => !attribute.startsWith('expires=')).toSorted()].join('; ')
}
