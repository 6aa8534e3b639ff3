import { verifyJwt } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { describe, expect, test } from 'vitest'
import { MAX_TOKEN_LENGTH } from '../../src/jwt/verify-jws.ts'
import { reasonOf } from '../support/reason-of.ts'
import { createTokenGate } from '../support/token-gate.ts'

const { config, clock, ed25519 } = await createTokenGate()
const key = parseSigningKeys({ keys: [ed25519] }).active
const now = clock.now().getTime()
const session = { id: 's1', userId: 'ada', expiresAt: new Date(now + 86_400_000) }

function decode(token: string): { header: Record<string, unknown>; payload: Record<string, unknown> } {
  const [header = '', payload = ''] = token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString())
  return { header: JSON.parse(header), payload: JSON.parse(payload) }
}

test('the header has exactly alg, typ, and kid', async () => {
  const { token } = await issueJwt(session, { key, config })
  expect(decode(token).header).toEqual({ alg: 'Ed25519', typ: 'at+jwt', kid: ed25519.kid })
})

test('the claims are exactly these, without personal data', async () => {
  const { token } = await issueJwt(session, { key, config })
  expect(decode(token).payload).toEqual({
    iss: 'http://localhost:3000',
    aud: 'http://localhost:3000',
    sub: 'ada',
    userId: 'ada',
    sessionId: 's1',
    version: 1,
    iat: now / 1000,
    exp: now / 1000 + 900,
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})

test.each([1, 2, 4_000_000_000])('a JWT has the version of its session: %i', async (version) => {
  const { token } = await issueJwt({ ...session, version }, { key, config })
  expect(decode(token).payload).toMatchObject({ version })
  expect(await verifyJwt(token, config)).toMatchObject({ version })
})

test('further claims are added, but none that we set or that would end the JWT early', async () => {
  const payload = { plan: 'pro', sub: 'eve', userId: 'eve', exp: 1, nbf: 9e9, cookieHash: 'other' }
  const { token } = await issueJwt(session, { key, config, payload })
  const claims = decode(token).payload
  expect(claims).toMatchObject({ plan: 'pro', sub: 'ada', userId: 'ada', exp: now / 1000 + 900 })
  expect(Object.keys(claims)).not.toEqual(expect.arrayContaining([expect.stringMatching(/nbf|cookieHash/)]))
})

test('a JWT is bound to the session cookie of another library', async () => {
  const { token } = await issueJwt({ ...session, cookieHash: 'sha256:00' }, { key, config })
  expect(decode(token).payload).toMatchObject({ cookieHash: 'sha256:00' })
  expect(await verifyJwt(token, config)).toMatchObject({ cookieHash: 'sha256:00' })
})

test('no two JWTs are equal', async () => {
  const [one, other] = await Promise.all([
    issueJwt(session, { key, config }),
    issueJwt(session, { key, config }),
  ])
  expect(one.token).not.toBe(other.token)
})

describe('a JWT is valid for 15 minutes and never longer than its session', () => {
  test.each([
    ['a month', 30 * 86_400_000, 900],
    ['15 minutes and a second', 901_000, 900],
    ['15 minutes', 900_000, 900],
    ['a minute', 60_000, 60],
    ['a minute and a half second', 60_500, 60],
    ['half a second', 500, 0],
    ['no time', 0, 0],
  ])('the session has %s left', async (_name, leftMs, expiresInSeconds) => {
    const jwt = await issueJwt({ ...session, expiresAt: new Date(now + leftMs) }, { key, config })
    expect(jwt.expiresInSeconds).toBe(expiresInSeconds)
    expect(jwt.expiresAt).toEqual(new Date(now + expiresInSeconds * 1000))
    expect(decode(jwt.token).payload).toMatchObject({ exp: now / 1000 + expiresInSeconds })
  })

  test('the JWT of an ended session is expired, and never has a negative lifetime', async () => {
    const jwt = await issueJwt({ ...session, expiresAt: new Date(now - 60_000) }, { key, config })
    expect(jwt.expiresInSeconds).toBe(0)
    expect(await reasonOf(verifyJwt(jwt.token, config))).toBe('TOKEN_EXPIRED')
  })
})

test('rejects a JWT too large for a cookie when it is issued', async () => {
  const issue = (length: number) => issueJwt({ ...session, userId: 'a'.repeat(length) }, { key, config })
  await expect(issue(MAX_TOKEN_LENGTH)).rejects.toThrow(Error)
  const { token } = await issueJwt(session, { key, config, payload: { filler: '' } })
  // Three characters of a claim become four of the token.
  const filler = 'x'.repeat(Math.ceil(((MAX_TOKEN_LENGTH - token.length) / 4) * 3))
  const longest = await issueJwt(session, { key, config, payload: { filler } })
  expect(longest.token).toHaveLength(MAX_TOKEN_LENGTH)
})
