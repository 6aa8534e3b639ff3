import { createHmac, createPublicKey } from 'node:crypto'
import { staticJwks, verifyJwt } from '@sallyport/core'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { CompactSign, importJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { MAX_TOKEN_LENGTH, verifyJws } from '../../src/jwt/verify-jws.ts'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import { sealToken, toSegment } from '../support/forge-token.ts'
import { reasonOf } from '../support/reason-of.ts'
import { createTokenGate } from '../support/token-gate.ts'

const gate = await createTokenGate()
const { ed25519, es256, forge, header, keySet } = gate
const unknownKey = await createSigningKey('Ed25519')
const valid = forge()
const [headerSegment = '', payloadSegment = '', signature = ''] = valid.split('.')

/** Spells the same bytes differently: the last character has bits beyond the last byte. */
function withTrailingBits(segment: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(segment.at(-1) ?? '')
  const spelled = segment.slice(0, -1) + alphabet[last + 1]
  expect(Buffer.from(spelled, 'base64url')).toEqual(Buffer.from(segment, 'base64url'))
  return spelled
}

/** Returns JSON whose length leaves unused bits in its last character. */
function unaligned(value: unknown): string {
  const json = JSON.stringify(value)
  return json.length % 3 === 0 ? ` ${json}` : json
}

/** Creates a valid token of exactly this many characters. */
function forgeOfLength(length: number): string {
  const bare = forge({ payload: { ...gate.claims(), filler: '' } }).length
  for (let filler = Math.floor(((length - bare) * 3) / 4) - 3; ; filler++) {
    const token = forge({ payload: { ...gate.claims(), filler: 'x'.repeat(filler) } })
    if (token.length >= length) return token
  }
}

/** Signs a token with HMAC. A verifier that trusts `alg` would use the public key as the secret. */
function sealWithHmac(secret: string | Uint8Array): string {
  const input = `${toSegment({ ...header, alg: 'HS256' })}.${payloadSegment}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

const publicKey = createPublicKey({ key: { ...toPublicJwk(ed25519) }, format: 'jwk' })
const withHeader = (member: object) => forge({ header: { ...header, ...member } })

test('accepts a valid token after one key lookup, and looks it up in the database', async () => {
  expect(await gate.send(valid)).toEqual({ reason: 'accepted', keyLookups: 1, sessionLookups: 1 })
})

describe('Step 1 rejects without a key lookup and without cryptography', () => {
  test.each([
    ['an empty string', ''],
    ['two segments', `${headerSegment}.${payloadSegment}`],
    ['four segments', `${valid}.${signature}`],
    ['five segments', `${valid}.${signature}.${signature}`],
    ['an empty fourth segment', `${valid}.`],
    ['an empty header', `.${payloadSegment}.${signature}`],
    ['an empty payload', `${headerSegment}..${signature}`],
    ['an empty signature', `${headerSegment}.${payloadSegment}.`],
    ['one character more than fits a cookie', forgeOfLength(MAX_TOKEN_LENGTH + 1)],
    ['a padded header', sealToken(ed25519, `${headerSegment}=`, payloadSegment)],
    ['a padded payload', sealToken(ed25519, headerSegment, `${payloadSegment}==`)],
    ['a padded signature', `${valid}==`],
    ['base64 instead of base64url', `${headerSegment}.${payloadSegment}.${signature.slice(0, -2)}+/`],
    [
      'trailing bits in the header',
      sealToken(ed25519, withTrailingBits(toSegment(unaligned(header))), payloadSegment),
    ],
    [
      'trailing bits in the payload',
      sealToken(ed25519, headerSegment, withTrailingBits(toSegment(unaligned(gate.claims())))),
    ],
    ['trailing bits in the signature', `${headerSegment}.${payloadSegment}.${withTrailingBits(signature)}`],
    ['a segment of an impossible length', `${headerSegment}.${payloadSegment}.${signature}AAA`],
    ['alg none with a signature', withHeader({ alg: 'none' })],
    ['alg none without a signature', `${toSegment({ ...header, alg: 'none' })}.${payloadSegment}.`],
    ['an alg that no key has', withHeader({ alg: 'RS256' })],
    ['the alias EdDSA', withHeader({ alg: 'EdDSA' })],
    ['alg in lower case', withHeader({ alg: 'ed25519' })],
    ['no alg', forge({ header: { typ: header.typ, kid: header.kid } })],
    ["an alg that isn't a string", withHeader({ alg: ['Ed25519'] })],
    ['no kid', forge({ header: { alg: header.alg, typ: header.typ } })],
    ["a kid that isn't a string", withHeader({ kid: 1 })],
    ['a kid that is null', withHeader({ kid: null })],
    ['another typ', withHeader({ typ: 'JWT' })],
    ['typ in another case', withHeader({ typ: 'AT+JWT' })],
    ["a typ that isn't a string", withHeader({ typ: 1 })],
    ['no typ', forge({ header: { alg: header.alg, kid: header.kid } })],
    ['an embedded jwk', withHeader({ jwk: toPublicJwk(ed25519) })],
    ['jku', withHeader({ jku: 'https://evil.example/jwks' })],
    ['x5u', withHeader({ x5u: 'https://evil.example/cert' })],
    ['x5c', withHeader({ x5c: ['AAAA'] })],
    ['x5t', withHeader({ x5t: 'AAAA' })],
    ['crit', withHeader({ crit: ['exp'] })],
    ['b64', withHeader({ b64: true, crit: ['b64'] })],
    ['zip', withHeader({ zip: 'DEF' })],
    ['cty', withHeader({ cty: 'JWT' })],
    ['an unknown member', withHeader({ extra: 1 })],
    ['a member named __proto__', forge({ header: `{"__proto__":{},${JSON.stringify(header).slice(1)}` })],
    ['alg twice', forge({ header: `{"alg":"none",${JSON.stringify(header).slice(1)}` })],
    ['kid twice', forge({ header: `{"kid":"other",${JSON.stringify(header).slice(1)}` })],
    ['typ twice, identical', forge({ header: `{"typ":"at+jwt",${JSON.stringify(header).slice(1)}` })],
    ['alg twice, once as a number', forge({ header: `{"alg":1,${JSON.stringify(header).slice(1)}` })],
    [
      'kid twice, once in escapes',
      forge({ header: `{"\\u006bid":"other",${JSON.stringify(header).slice(1)}` }),
    ],
    ['a byte order mark', forge({ header: `\uFEFF${JSON.stringify(header)}` })],
    [
      'invalid UTF-8',
      forge({ header: Buffer.from(`{"alg":"Ed25519","typ":"at+jwt","kid":"\xff"}`, 'latin1') }),
    ],
    ["a header that isn't JSON", forge({ header: 'alg=Ed25519' })],
    ['JSON with something after it', forge({ header: `${JSON.stringify(header)}x` })],
    ['a header that is an array', forge({ header: [header] })],
    ['a header that is null', forge({ header: 'null' })],
    ['a header that is a string', forge({ header: '"Ed25519"' })],
    ['HS256 keyed with the public key as text', sealWithHmac(ed25519.x)],
    ['HS256 keyed with the bytes of the public key', sealWithHmac(Buffer.from(ed25519.x, 'base64url'))],
    ['HS256 keyed with the public JWK', sealWithHmac(JSON.stringify(toPublicJwk(ed25519)))],
    [
      'HS256 keyed with the public key in DER',
      sealWithHmac(publicKey.export({ type: 'spki', format: 'der' })),
    ],
    [
      'HS256 keyed with the public key in PEM',
      sealWithHmac(publicKey.export({ type: 'spki', format: 'pem' })),
    ],
  ])('%s', async (_name, token) => {
    expect(await gate.send(token)).toEqual({ reason: 'TOKEN_INVALID', keyLookups: 0, sessionLookups: 0 })
  })

  test.each([
    ['before', ` ${valid}`],
    ['after', `${valid} `],
    ['as a line break after', `${valid}\n`],
    ['as a tab inside', valid.replace('.', '\t.')],
    [
      'inside the payload',
      `${headerSegment}.${payloadSegment.slice(0, 4)} ${payloadSegment.slice(4)}.${signature}`,
    ],
    ['inside a payload signed with it', sealToken(ed25519, headerSegment, `${payloadSegment}\n`)],
    ['as no-break space', `\u00a0${valid}`],
  ])('white space %s', async (_name, token) => {
    keySet.lookups = 0
    expect(await reasonOf(verifyJws(token, keySet))).toBe('TOKEN_INVALID')
    expect(keySet.lookups).toBe(0)
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a number', 1],
    ['an array of the segments', valid.split('.')],
    ['an array of the token', [valid]],
    ['a buffer', Buffer.from(valid)],
    ['a boxed string', Object(valid)],
    [
      'an object that pretends to be a token',
      { toString: () => valid, length: 10, split: () => valid.split('.') },
    ],
  ])('%s instead of a string', async (_name, token) => {
    keySet.lookups = 0
    expect(await reasonOf(verifyJws(token, keySet))).toBe('TOKEN_INVALID')
    expect(keySet.lookups).toBe(0)
  })
})

test.each([1, null, ['at+jwt'], {}])('rejects the typ %j even if any typ is allowed', async (typ) => {
  keySet.lookups = 0
  expect(await reasonOf(verifyJws(withHeader({ typ }), keySet))).toBe('TOKEN_INVALID')
  expect(keySet.lookups).toBe(0)
  expect(await reasonOf(verifyJws(withHeader({ typ: 'other' }), keySet))).toBe('accepted')
})

describe('rejects after one key lookup', () => {
  test.each([
    ['a kid that is not in the set', withHeader({ kid: 'gone' })],
    ['an empty kid', withHeader({ kid: '' })],
    ['a kid that is a property of every object', withHeader({ kid: 'constructor' })],
    ['the alg of another key', withHeader({ alg: 'ES256' })],
    [
      'the alg of another key, signed by that key',
      forge({ header: { ...header, alg: 'ES256' }, key: es256 }),
    ],
    ['the kid of another key', forge({ header: { ...header, kid: es256.kid } })],
    ['the signature of an unknown key', forge({ key: unknownKey })],
    ['a signature with one bit changed', flipFirstBit(valid, 2)],
    ['a payload with one bit changed', flipFirstBit(valid, 1)],
    ['a signature of another length', `${headerSegment}.${payloadSegment}.${signature.slice(0, 40)}`],
    [
      'the signature of another token',
      `${headerSegment}.${toSegment({ ...gate.claims(), sub: 'eve' })}.${signature}`,
    ],
  ])('%s', async (_name, token) => {
    expect(await gate.send(token)).toEqual({ reason: 'TOKEN_INVALID', keyLookups: 1, sessionLookups: 0 })
  })

  function flipFirstBit(token: string, at: number): string {
    const segments = token.split('.')
    const bytes = Buffer.from(segments[at] ?? '', 'base64url')
    bytes.writeUInt8(bytes.readUInt8(0) ^ 0x80, 0)
    return segments.with(at, bytes.toString('base64url')).join('.')
  }
})

test('rejects the alg of another key before it uses that key', async () => {
  let imports = 0
  const key = {
    kid: ed25519.kid,
    alg: 'Ed25519',
    material: ed25519.x,
    cryptoKey: () => Promise.reject(new Error(`${++imports}`)),
  } as const
  const token = withHeader({ alg: 'ES256' })
  expect(await reasonOf(verifyJws(token, { ...keySet, findKey: () => key }))).toBe('TOKEN_INVALID')
  expect(imports).toBe(0)
})

test('accepts a token of the maximum length', async () => {
  const token = forgeOfLength(MAX_TOKEN_LENGTH)
  expect(token).toHaveLength(MAX_TOKEN_LENGTH)
  expect(await gate.send(token)).toMatchObject({ reason: 'accepted' })
})

test('accepts any typ, or none, if none is required', async () => {
  const logoutToken = forge({ header: { ...header, typ: 'logout+jwt' } })
  const bare = forge({ header: { alg: header.alg, kid: header.kid } })
  expect(await reasonOf(verifyJws(logoutToken, keySet))).toBe('accepted')
  expect(await reasonOf(verifyJws(bare, keySet))).toBe('accepted')
})

test('returns the signed bytes and the key', async () => {
  const verified = await verifyJws(forge({ payload: '{"a":1}' }), keySet)
  expect(Buffer.from(verified.payload).toString()).toBe('{"a":1}')
  expect(verified).toMatchObject({ keyId: ed25519.kid })
})

test('a key that can be read but not imported is 503, because the token could be valid', async () => {
  const offTheCurve = { ...toPublicJwk(es256), x: 'A'.repeat(43), y: 'A'.repeat(43) }
  const token = forge({ header: { ...header, alg: 'ES256', kid: es256.kid }, key: es256 })
  expect(await reasonOf(verifyJws(token, staticJwks({ keys: [offTheCurve] })))).toBe('KEYS_UNAVAILABLE')
})

test('a key set that fails is 503, and its error is the cause', async () => {
  const cause = new Error('no connection')
  const findKey = () => Promise.reject(cause)
  await expect(verifyJws(valid, { ...keySet, findKey })).rejects.toMatchObject({
    reason: 'KEYS_UNAVAILABLE',
    cause,
  })
})

test.each([
  ['a header that is not JSON', forge({ header: 'alg=Ed25519' }), SyntaxError],
  ['a wrong signature', forge({ key: unknownKey }), Error],
  ['a payload that is not JSON', forge({ payload: 'sub=ada' }), SyntaxError],
])('the error of a token with %s has a cause', async (_name, token, cause) => {
  await expect(verifyJwt(token, gate.config)).rejects.toMatchObject({
    reason: 'TOKEN_INVALID',
    cause: expect.any(cause),
  })
})

test('only tokens of other issuers may have unknown members in their header, and none that is unsafe', async () => {
  const verify = (member: object, isOwn?: boolean) =>
    reasonOf(verifyJws(withHeader(member), keySet, isOwn === undefined ? {} : { isOwn }))
  expect(await verify({ cat: 'session' })).toBe('TOKEN_INVALID')
  expect(await verify({ cat: 'session' }, false)).toBe('accepted')
  for (const unsafe of [{ jwk: {} }, { x5c: [] }, { crit: ['cat'] }])
    expect(await verify({ cat: 'session', ...unsafe }, false)).toBe('TOKEN_INVALID')
})

test('accepts a token that another library signed', async () => {
  const token = await new CompactSign(Buffer.from('{}'))
    .setProtectedHeader({ alg: 'ES256', kid: es256.kid })
    .sign(await importJWK({ ...es256 }, 'ES256'))
  expect(await reasonOf(verifyJws(token, keySet))).toBe('accepted')
})
