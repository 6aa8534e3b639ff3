import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { hashSecret } from '@sallyport/core/internal/server'
import { expect, test } from 'vitest'
import { COOKIE, createJwtScene } from './jwt-scene.ts'

const scene = await createJwtScene()
const { browse, config, database, signingKeys } = scene

/** Signs a user up. Returns the cookies as a browser sends them, and the row. */
async function signUp(name: string) {
  const browser = browse()
  await browser.signUp(name)
  const session = browser.cookies.get(COOKIE) ?? ''
  const [token] = session.split('.')
  const row = database.prepare('select id, userId from session where token = ?').get(token)
  const { id = '', userId = '' } = Object(row)
  const ids = { id: String(id), userId: String(userId) }
  return { browser, session, jwt: browser.cookies.get('service.jwt') ?? '', ...ids }
}
const alice = await signUp('alice')
const bob = await signUp('bob')
const expiresAt = new Date(Date.now() + 900_000)

/** Calls the process without Better Auth's secret. */
const send = (jwt: string, session: string | null) =>
  browse(`service.jwt=${jwt}${session === null ? '' : `; ${COOKIE}=${session}`}`).me()

test("each user's own pair is accepted", async () => {
  expect(await send(alice.jwt, alice.session)).toBe('alice@example.com')
  expect(await send(bob.jwt, bob.session)).toBe('bob@example.com')
  expect(await send(bob.jwt, decodeURIComponent(bob.session))).toBe('bob@example.com')
})

test.each<[string, string, string | null]>([
  ["A's JWT with B's cookie", alice.jwt, bob.session],
  ["B's JWT with A's cookie", bob.jwt, alice.session],
  ['a missing cookie', alice.jwt, null],
  ['an empty cookie', alice.jwt, ''],
  ['a cookie without its signature', alice.jwt, alice.session.split('.')[0] ?? ''],
  ['a cookie with another signature', alice.jwt, `${alice.session.split('.')[0]}.${'A'.repeat(43)}%3D`],
])('TOKEN_INVALID: %s', async (_name, jwt, session) => {
  expect(await send(jwt, session)).toBe('TOKEN_INVALID')
})

test.each([
  ['no claim', {}],
  ["the claim for another user's cookie", { cookieHash: await hashSecret(decodeURIComponent(bob.session)) }],
  ['an empty claim', { cookieHash: '' }],
])('TOKEN_INVALID: a JWT of our own key with %s', async (_name, claim) => {
  const jwt = await issueJwt({ ...alice, expiresAt, ...claim }, { key: signingKeys.active, config })
  expect(await send(jwt.token, alice.session)).toBe('TOKEN_INVALID')
  expect(await send(jwt.token, null)).toBe('TOKEN_INVALID')
})

test('TOKEN_INVALID: a claim that an attacker signed, or wrote into a payload', async () => {
  const cookieHash = await hashSecret(decodeURIComponent(bob.session))
  const { active } = parseSigningKeys({ keys: [await createSigningKey()] })
  const forged = await issueJwt({ ...alice, expiresAt, cookieHash }, { key: active, config })
  expect(await send(forged.token, bob.session)).toBe('TOKEN_INVALID')
  const [header, payload = '', signature] = alice.jwt.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...claims, cookieHash })).toString('base64url')
  expect(await send([header, changed, signature].join('.'), bob.session)).toBe('TOKEN_INVALID')
})

test('SESSION_NOT_FOUND: the pair of a deleted session', async () => {
  const carol = await signUp('carol')
  expect(await send(carol.jwt, carol.session)).toBe('carol@example.com')
  database.prepare('delete from session where id = ?').run(carol.id)
  expect(await send(carol.jwt, carol.session)).toBe('SESSION_NOT_FOUND')
})

test('the JWT carries the hash of the cookie, never its token', () => {
  const claims = Buffer.from(alice.jwt.split('.')[1] ?? '', 'base64url').toString()
  expect(claims).toContain('"cookieHash":"sha256:')
  expect(claims).not.toContain(alice.session.split('.')[0])
})
