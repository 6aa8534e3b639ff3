import { verifyJwt } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { serviceAudience, verifyServiceToken } from '@sallyport/core/internal/server'
import { describe, expect, test } from 'vitest'
import { sealToken, toSegment } from '../support/forge-token.ts'
import { reasonOf } from '../support/reason-of.ts'
import { createServiceScene } from '../support/service-scene.ts'

const scene = await createServiceScene()
const { config, now, ed25519, es256, ofUsers, claims } = scene
const audience = serviceAudience(config)
const HEADER = { alg: 'Ed25519', typ: 'svc+jwt', kid: ed25519.kid }

const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
const verify = (token: string, at = now) =>
  verifyServiceToken(token, { jwks: scene.serviceJwks, audience, now: at })
const forge = (payload: object, header: object = HEADER, key = ed25519) =>
  sealToken(key, toSegment(header), toSegment(payload))

test('a service JWT identifies its call and the acting user', async () => {
  expect(await verify(await scene.issue())).toEqual({
    ...scene.call,
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    service: 'edge',
    expiresAt: later(30),
    bodyDigest: scene.bodyDigest,
  })
})

test('a token without an acting user or an idempotency key has null for both', async () => {
  const token = await scene.issue({ actor: null, idempotencyKey: null })
  expect(await verify(token)).toMatchObject({ actor: null, idempotencyKey: null })
})

test('no two tokens are equal', async () => {
  const [first, second] = await Promise.all([scene.issue(), scene.issue()])
  expect((await verify(first)).id).not.toBe((await verify(second)).id)
})

test('accepts either algorithm', async () => {
  const key = parseSigningKeys({ keys: [es256] }).active
  expect(await verify(await scene.issue({}, { key }))).toMatchObject({ service: 'edge' })
})

test('accepts a forged token with valid claims and the right key, so each case below has a single fault', async () => {
  expect(await reasonOf(verify(forge(claims())))).toBe('accepted')
  expect(await reasonOf(verify(forge({ ...claims(), act: undefined, idempotencyKey: undefined })))).toBe(
    'accepted',
  )
})

describe('rejects', () => {
  test.each<[string, string]>([
    ['no token', ''],
    [
      'a JWT of a user',
      sealToken(ofUsers, toSegment({ ...HEADER, typ: 'at+jwt', kid: ofUsers.kid }), toSegment(claims())),
    ],
    ["one signed with the users' key", forge(claims(), { ...HEADER, kid: ofUsers.kid }, ofUsers)],
    ["one signed with the users' key under the id of the service's key", forge(claims(), HEADER, ofUsers)],
    ['the type of a JWT of a user', forge(claims(), { ...HEADER, typ: 'at+jwt' })],
    ['the type in capitals', forge(claims(), { ...HEADER, typ: 'SVC+JWT' })],
    ['no type', forge(claims(), { alg: HEADER.alg, kid: HEADER.kid })],
    ['no algorithm', forge(claims(), { ...HEADER, alg: 'none' })],
    ['the algorithm of another key', forge(claims(), { ...HEADER, alg: 'ES256' })],
    ['the id of another key', forge(claims(), { ...HEADER, kid: es256.kid })],
    ['an unknown key', forge(claims(), { ...HEADER, kid: 'unknown' })],
    ['an embedded key', forge(claims(), { ...HEADER, jwk: {} })],
    ["a payload that isn't an object", forge([claims()])],
    ["a payload that isn't JSON", sealToken(ed25519, toSegment(HEADER), toSegment('{'))],
  ])('%s', async (_what, token) => {
    expect(await reasonOf(verify(token))).toBe('TOKEN_INVALID')
  })

  test.each<[string, object]>([
    ['no iss', { iss: undefined }],
    ['an empty iss', { iss: '' }],
    ['an iss that is a list', { iss: ['edge'] }],
    ['no aud', { aud: undefined }],
    ['the aud of a JWT of a user', { aud: 'https://app.example.com' }],
    ['the aud of another app', { aud: 'https://other.example.com/internal' }],
    ['a list of audiences', { aud: [audience] }],
    ['no iat', { iat: undefined }],
    ['an iat that is text', { iat: '1' }],
    ['a negative iat', { iat: -1 }],
    ['no exp', { exp: undefined }],
    ["an exp that isn't a whole number", { exp: now.getTime() / 1000 + 0.5 }],
    ['an exp beyond the last date', { iat: 8.64e12 - 1, exp: 8.64e12 + 1 }],
    ['a lifetime of 31 s', { exp: now.getTime() / 1000 + 31 }],
    ['a lifetime of a year', { exp: now.getTime() / 1000 + 31_536_000 }],
    ['no lifetime', { exp: now.getTime() / 1000 }],
    ['an iat 31 s ahead', { iat: now.getTime() / 1000 + 31, exp: now.getTime() / 1000 + 61 }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['a jti of 201 characters', { jti: 'x'.repeat(201) }],
    ['a jti that no database can store', { jti: 'a\0' }],
    ['no fn', { fn: undefined }],
    ['no op', { op: undefined, idempotencyKey: undefined }],
    ['an unknown op', { op: 'subscription', idempotencyKey: undefined }],
    ['no body', { body: undefined }],
    ['the digest of another length', { body: 'AAAA' }],
    ['a digest that is not canonical', { body: `${'A'.repeat(42)}B` }],
    ['an act that is text', { act: 'ada' }],
    ['an act that is null', { act: null }],
    ['an act of a list', { act: [] }],
    ['an act with a further member', { act: { ...Object(claims().act), role: 'admin' } }],
    ['an act without sub', { act: { ...Object(claims().act), sub: undefined } }],
    ['an act without version', { act: { ...Object(claims().act), version: undefined } }],
    ['an act with version 0', { act: { ...Object(claims().act), version: 0 } }],
    ['an act with a version as text', { act: { ...Object(claims().act), version: '1' } }],
    ['an act without sessionId', { act: { ...Object(claims().act), sessionId: undefined } }],
    ['an act without iss', { act: { ...Object(claims().act), iss: undefined } }],
    ['an act without kid', { act: { ...Object(claims().act), kid: undefined } }],
    ['an act without exp', { act: { ...Object(claims().act), exp: undefined } }],
    ['an act that ended before 1970', { act: { ...Object(claims().act), exp: -1 } }],
    ['an act that ends beyond the last date', { act: { ...Object(claims().act), exp: 8.64e12 + 1 } }],
    ["an idempotency key that isn't text", { idempotencyKey: 1 }],
    ['an idempotency key of a query', { op: 'query' }],
    ['an empty idempotency key', { idempotencyKey: '' }],
    ['a further claim', { nbf: 0 }],
  ])('rejects a token with %s', async (_what, changes) => {
    expect(await reasonOf(verify(forge({ ...claims(), ...changes })))).toBe('TOKEN_INVALID')
  })
})

describe('is valid for 30 s', () => {
  test.each([
    ['30 s before it was issued, by a slow clock', -30, 'accepted'],
    ['31 s before', -31, 'TOKEN_INVALID'],
    ['after 29 s', 29, 'accepted'],
    ['after 30 s', 30, 'TOKEN_EXPIRED'],
    ['after a day', 86_400, 'TOKEN_EXPIRED'],
  ])('%s: %3$s', async (_when, seconds, expected) => {
    expect(await reasonOf(verify(await scene.issue(), later(seconds)))).toBe(expected)
  })
})

test("a token with a valid signature isn't accepted as a user's JWT at the public gate", async () => {
  expect(await reasonOf(verifyJwt(await scene.issue(), config))).toBe('TOKEN_INVALID')
  // Nor if the keys were mixed up.
  const mixed = { ...config, issuers: [{ ...config.issuers[0], jwks: scene.serviceJwks }] as const }
  expect(await reasonOf(verifyJwt(await scene.issue(), mixed))).toBe('TOKEN_INVALID')
})

test('throws KEYS_UNAVAILABLE if the keys are unavailable', async () => {
  const jwks = { ...scene.serviceJwks, findKey: () => Promise.reject(new Error('offline')) }
  const verifying = verifyServiceToken(await scene.issue(), { jwks, audience, now })
  expect(await reasonOf(verifying)).toBe('KEYS_UNAVAILABLE')
})
