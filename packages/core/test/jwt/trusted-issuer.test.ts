import {
  authenticate,
  ConfigurationError,
  defineAuthConfig,
  dynamicJwks,
  type KeySet,
  staticJwks,
  type TrustedIssuer,
  verifyJwt,
} from '@sallyport/core'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { keysVersion, validateIdentity } from '@sallyport/core/internal/server'
import { createTestAuth } from '@sallyport/core/testing'
import { exportJWK, generateKeyPair, importJWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import { createLiveKeys } from '../../src/keys/live-keys.ts'
import type { PrivateJwk } from '../../src/keys/policy.ts'
import { incoming } from '../support/incoming.ts'
import { startJwksServer } from '../support/jwks-server.ts'
import { reasonOf } from '../support/reason-of.ts'

const OWN = 'https://app.example.com'
const THEIRS = 'https://id.example.com'
const PARTNER = 'https://partner.example.com'

/** A key pair that signs with `jose`, not with the library under test. */
interface Signer {
  readonly alg: string
  readonly kid: string
  readonly key: CryptoKey
}

async function signerOf(jwk: PrivateJwk): Promise<Signer> {
  const key = await importJWK({ ...jwk }, jwk.alg)
  if (key instanceof Uint8Array) throw new TypeError('A key pair was expected')
  return { alg: jwk.alg, kid: jwk.kid, key }
}

const [ownJwk, partnerJwk] = await Promise.all([createSigningKey(), createSigningKey('ES256')])
const [own, partner] = await Promise.all([signerOf(ownJwk), signerOf(partnerJwk)])
const rsa = await generateKeyPair('RS256', { extractable: true })
const rsaJwk = { ...(await exportJWK(rsa.publicKey)), alg: 'RS256', kid: 'rsa-1', use: 'sig' }
const theirs: Signer = { alg: 'RS256', kid: 'rsa-1', key: rsa.privateKey }

const theirIssuer: TrustedIssuer = {
  issuer: THEIRS,
  audience: 'our-api',
  typ: 'JWT',
  jwks: staticJwks({ keys: [rsaJwk] }, { algorithms: ['RS256'] }),
  claims: { userId: 'sub', sessionId: 'sid' },
}
const partnerIssuer: TrustedIssuer = {
  issuer: PARTNER,
  audience: 'our-api',
  typ: null,
  jwks: staticJwks({ keys: [toPublicJwk(partnerJwk)] }),
  claims: { userId: 'https://partner.example.com/user', sessionId: 'jti' },
}
const config = defineAuthConfig({
  baseUrl: OWN,
  jwks: staticJwks({ keys: [toPublicJwk(ownJwk)] }),
  trustedIssuers: [theirIssuer, partnerIssuer],
})

const seconds = () => Math.floor(Date.now() / 1000)

/** Returns the claims of an accepted token. */
const ownClaims = () => ({
  iss: OWN,
  aud: OWN,
  sub: 'ada',
  iat: seconds(),
  exp: seconds() + 60,
  jti: 'j1',
  sessionId: 's1',
  userId: 'ada',
  version: 1,
})
const theirClaims = () => ({
  iss: THEIRS,
  aud: 'our-api',
  sub: 'ada',
  sid: 's1',
  iat: seconds(),
  exp: seconds() + 60,
})
const partnerClaims = () => ({
  iss: PARTNER,
  aud: 'our-api',
  'https://partner.example.com/user': 'ada',
  jti: 's1',
  iat: seconds(),
  exp: seconds() + 60,
})

function sign(claims: object, signer: Signer, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
  const { alg, kid, key } = signer
  return new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(key)
}

const AT_JWT = { typ: 'at+jwt' }
const JWT = { typ: 'JWT' }
const result = async (token: Promise<string>, by = config) => reasonOf(verifyJwt(await token, by))

describe('accepts a token of a declared issuer', () => {
  test('with the identity from its claims', async () => {
    const claims = theirClaims()
    expect(await verifyJwt(await sign(claims, theirs, JWT), config)).toEqual({
      userId: 'ada',
      sessionId: 's1',
      version: null,
      expiresAt: new Date(claims.exp * 1000),
      issuer: THEIRS,
      keyId: 'rsa-1',
    })
    expect(await verifyJwt(await sign(partnerClaims(), partner), config)).toMatchObject({
      userId: 'ada',
      sessionId: 's1',
      issuer: PARTNER,
    })
  })

  test("without changing the checks of the server's own tokens", async () => {
    expect(await verifyJwt(await sign(ownClaims(), own, AT_JWT), config)).toMatchObject({ issuer: OWN })
    const { jti: _, ...withoutJti } = ownClaims()
    expect(await result(sign(withoutJti, own, AT_JWT))).toBe('TOKEN_INVALID')
  })

  test('with keys fetched from the issuer', async () => {
    const { url } = await startJwksServer(JSON.stringify({ keys: [rsaJwk] }))
    const fetched = defineAuthConfig({
      baseUrl: OWN,
      jwks: staticJwks({ keys: [toPublicJwk(ownJwk)] }),
      trustedIssuers: [{ ...theirIssuer, jwks: dynamicJwks(url, { algorithms: ['RS256'] }) }],
    })
    expect(await result(sign(theirClaims(), theirs, JWT), fetched)).toBe('accepted')
  })

  test('and takes neither a version nor the hash of a cookie from it: only our own tokens prove them', async () => {
    const token = await sign({ ...theirClaims(), version: 1, cookieHash: 'sha256:00' }, theirs, JWT)
    const identity = await verifyJwt(token, config)
    expect(identity).toMatchObject({ version: null })
    expect(identity).not.toHaveProperty('cookieHash')
  })

  test('and then looks its session up in the database', async () => {
    const auth = await createTestAuth({ bearer: true, trustedIssuers: [theirIssuer] })
    const { userId, sessionId } = await auth.signIn()
    await auth.db.updateTable('session').set({ issuer: THEIRS }).where('id', '=', sessionId).execute()
    const enter = async (claims: object) => {
      const token = await sign({ ...theirClaims(), ...claims }, theirs, JWT)
      const request = incoming({ authorization: `Bearer ${token}` })
      return reasonOf(
        authenticate(request, 'query', { config: auth.config, sessions: auth.database.sessions }),
      )
    }
    expect(await enter({ sub: userId, sid: sessionId })).toBe('accepted')
    expect(await enter({ sub: userId, sid: 'unknown' })).toBe('SESSION_NOT_FOUND')
    expect(await enter({ sub: 'somebody', sid: sessionId })).toBe('SESSION_NOT_FOUND')
    const ours = await auth.signIn({ userId })
    expect(await enter({ sub: userId, sid: ours.sessionId })).toBe('TOKEN_INVALID')
    await auth.close()
  })
})

describe('a token of another issuer expires', () => {
  const NOW = Math.floor(Date.parse('2026-11-21T10:00:00.000Z') / 1000)
  const HOUR = 3_600
  const YEAR = 365 * 24 * HOUR
  const at = (maxAgeSeconds?: number) =>
    defineAuthConfig({
      baseUrl: OWN,
      jwks: staticJwks({ keys: [toPublicJwk(ownJwk)] }),
      trustedIssuers: [{ ...theirIssuer, ...(maxAgeSeconds !== undefined && { maxAgeSeconds }) }],
      now: () => new Date(NOW * 1000),
    })
  const token = (times: { iat?: number | undefined; exp: number }) =>
    sign({ ...theirClaims(), ...times }, theirs, JWT)

  test.each<[string, { iat: number; exp: number }, number | undefined, number]>([
    ['at its exp', { iat: NOW, exp: NOW + 60 }, undefined, NOW + 60],
    ['an hour after its iat at the latest', { iat: NOW - 60, exp: NOW + YEAR }, undefined, NOW - 60 + HOUR],
    ['maxAgeSeconds after its iat at the latest', { iat: NOW - 60, exp: NOW + YEAR }, 90, NOW + 30],
    ['at its exp if maxAgeSeconds is longer', { iat: NOW - 60, exp: NOW + 60 }, YEAR, NOW + 60],
    ['at its exp, an hour after its iat', { iat: NOW, exp: NOW + HOUR }, undefined, NOW + HOUR],
  ])('%s', async (_name, times, maxAgeSeconds, expected) => {
    const { expiresAt } = await verifyJwt(await token(times), at(maxAgeSeconds))
    expect(expiresAt).toEqual(new Date(expected * 1000))
  })

  test.each<[string, { iat: number; exp: number }, number | undefined, string]>([
    ['a second under an hour old', { iat: NOW - HOUR + 1, exp: NOW + YEAR }, undefined, 'accepted'],
    ['an hour old', { iat: NOW - HOUR, exp: NOW + YEAR }, undefined, 'TOKEN_EXPIRED'],
    ['a year old, with an exp in a year', { iat: NOW - YEAR, exp: NOW + YEAR }, undefined, 'TOKEN_EXPIRED'],
    ['younger than maxAgeSeconds', { iat: NOW - 89, exp: NOW + YEAR }, 90, 'accepted'],
    ['as old as maxAgeSeconds', { iat: NOW - 90, exp: NOW + YEAR }, 90, 'TOKEN_EXPIRED'],
    ['from a clock 60 s ahead', { iat: NOW + 60, exp: NOW + YEAR }, undefined, 'accepted'],
    ['from a clock 61 s ahead', { iat: NOW + 61, exp: NOW + YEAR }, undefined, 'TOKEN_INVALID'],
    ['issued in a year', { iat: NOW + YEAR, exp: NOW + YEAR + 60 }, undefined, 'TOKEN_INVALID'],
  ])('a token that is %s', async (_name, times, maxAgeSeconds, expected) => {
    expect(await result(token(times), at(maxAgeSeconds))).toBe(expected)
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'rejects a maximum age of %d seconds at startup',
    (maxAgeSeconds) => {
      expect(() => at(maxAgeSeconds)).toThrow(ConfigurationError)
    },
  )
})

describe('requires the declared values, byte for byte', () => {
  test.each<[string, object, Partial<JWTHeaderParameters>, string]>([
    ['another audience', { aud: 'their-api' }, JWT, 'TOKEN_INVALID'],
    ['our own audience', { aud: OWN }, JWT, 'TOKEN_INVALID'],
    ['a list with our audience', { aud: ['their-api', 'our-api'] }, JWT, 'accepted'],
    ['a list without our audience', { aud: ['their-api', 'our-api/'] }, JWT, 'TOKEN_INVALID'],
    ['an empty list', { aud: [] }, JWT, 'TOKEN_INVALID'],
    ['a list of other things', { aud: ['our-api', 1] }, JWT, 'TOKEN_INVALID'],
    ['no audience', { aud: undefined }, JWT, 'TOKEN_INVALID'],
    ['the typ of our tokens', {}, AT_JWT, 'TOKEN_INVALID'],
    ['the typ in another case', {}, { typ: 'jwt' }, 'TOKEN_INVALID'],
    ['no typ', {}, {}, 'TOKEN_INVALID'],
    ['an issuer with a slash', { iss: `${THEIRS}/` }, JWT, 'TOKEN_INVALID'],
    ['an issuer in capitals', { iss: THEIRS.toUpperCase() }, JWT, 'TOKEN_INVALID'],
    ['an undeclared issuer', { iss: 'https://evil.example' }, JWT, 'TOKEN_INVALID'],
    ['a list of issuers', { iss: [THEIRS] }, JWT, 'TOKEN_INVALID'],
    ['no issuer', { iss: undefined }, JWT, 'TOKEN_INVALID'],
    ['the session in another claim', { sid: undefined, sessionId: 's1' }, JWT, 'TOKEN_INVALID'],
    ['the user in another claim', { sub: undefined, userId: 'ada' }, JWT, 'TOKEN_INVALID'],
    ["a session that isn't text", { sid: 1 }, JWT, 'TOKEN_INVALID'],
    ['a session without a name', { sid: '' }, JWT, 'TOKEN_INVALID'],
    ['a user with a name too long', { sub: 'a'.repeat(129) }, JWT, 'TOKEN_INVALID'],
    ['a token that has expired', { exp: seconds() }, JWT, 'TOKEN_EXPIRED'],
    ['a token that does not expire', { exp: undefined }, JWT, 'TOKEN_INVALID'],
    ["a token that isn't valid yet", { nbf: seconds() + 60 }, JWT, 'TOKEN_INVALID'],
    ['a token whose nbf has passed', { nbf: seconds() }, JWT, 'accepted'],
    [
      "none of the members that only the server's own tokens need",
      { jti: undefined, version: undefined },
      JWT,
      'accepted',
    ],
    ['no iat', { iat: undefined }, JWT, 'TOKEN_INVALID'],
    ['an iat as text', { iat: String(seconds()) }, JWT, 'TOKEN_INVALID'],
    ['a negative iat', { iat: -1 }, JWT, 'TOKEN_INVALID'],
    ['an unknown key', {}, { ...JWT, kid: 'rsa-2' }, 'TOKEN_INVALID'],
    ['no kid', {}, { ...JWT, kid: undefined } as object, 'TOKEN_INVALID'],
    ['a key in its header', {}, { ...JWT, jwk: rsaJwk }, 'TOKEN_INVALID'],
    ['harmless members in its header', {}, { ...JWT, cat: 'session', oiat: 1 }, 'accepted'],
  ])('%s', async (_name, claims, header, expected) => {
    expect(await result(sign({ ...theirClaims(), ...claims }, theirs, header))).toBe(expected)
  })

  test.each<[string, string]>([
    ['crit', '"crit":["exp"]'],
    ['b64', '"b64":true'],
    ['enc', '"enc":"A256GCM"'],
    ['zip', '"zip":"DEF"'],
    ['jku', '"jku":"https://evil.example/jwks"'],
    ['x5u', '"x5u":"https://evil.example/cert"'],
    ['x5c', '"x5c":["AAAA"]'],
    ['a harmless member twice', '"oiat":1,"oiat":2'],
    ['kid twice', '"kid":"rsa-2"'],
  ])('rejects %s in its header', async (_name, member) => {
    const { alg, kid, key } = theirs
    const segments = [
      `{${member},${JSON.stringify({ alg, kid, ...JWT }).slice(1)}`,
      JSON.stringify(theirClaims()),
    ]
    const input = segments.map((text) => Buffer.from(text).toString('base64url')).join('.')
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', key, Buffer.from(input))
    expect(await result(Promise.resolve(`${input}.${Buffer.from(signature).toString('base64url')}`))).toBe(
      'TOKEN_INVALID',
    )
  })

  test('rejects a token with a typ for an issuer without one', async () => {
    expect(await result(sign(partnerClaims(), partner))).toBe('accepted')
    for (const header of [JWT, AT_JWT, { typ: '' }])
      expect(await result(sign(partnerClaims(), partner, header))).toBe('TOKEN_INVALID')
  })

  test('rejects a token without a name for an issuer that JavaScript declared without one', async () => {
    const nameless: TrustedIssuer = { ...theirIssuer, ...JSON.parse('{"issuer":null}') }
    const by = { ...config, issuers: [config.issuers[0], nameless] as const }
    expect(await result(sign({ ...theirClaims(), iss: null }, theirs, JWT), by)).toBe('TOKEN_INVALID')
  })

  test("uses the issuer's algorithms, not those of the server", async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
    const jwk = { ...(await exportJWK(publicKey)), alg: 'RS256', kid: 'rsa-1' }
    const asPs256 = await importJWK({ ...(await exportJWK(privateKey)), alg: 'PS256' }, 'PS256')
    if (asPs256 instanceof Uint8Array) throw new TypeError('A key was expected')
    const jwks = staticJwks({ keys: [jwk] }, { algorithms: ['RS256'] })
    const narrow = defineAuthConfig({
      baseUrl: OWN,
      jwks: staticJwks({ keys: [toPublicJwk(ownJwk)] }),
      trustedIssuers: [{ ...theirIssuer, jwks }],
    })
    const signers: [Signer, string][] = [
      [{ alg: 'RS256', kid: 'rsa-1', key: privateKey }, 'accepted'],
      [{ alg: 'PS256', kid: 'rsa-1', key: asPs256 }, 'TOKEN_INVALID'],
      [{ ...own, kid: 'rsa-1' }, 'TOKEN_INVALID'],
      [own, 'TOKEN_INVALID'],
    ]
    for (const [signer, expected] of signers)
      expect(await result(sign(theirClaims(), signer, JWT), narrow)).toBe(expected)
  })
})

describe('a key is valid only for its own issuer', () => {
  /** Returns a config with the keys of the server and of the issuer, as in their sets. */
  function withSets(ownKeys: readonly PrivateJwk[], otherKeys: readonly PrivateJwk[]) {
    return defineAuthConfig({
      baseUrl: OWN,
      jwks: staticJwks({ keys: ownKeys.map(toPublicJwk) }),
      trustedIssuers: [{ ...partnerIssuer, jwks: staticJwks({ keys: otherKeys.map(toPublicJwk) }) }],
    })
  }

  test("an issuer can't sign for the server, or the server for the issuer", async () => {
    expect(await result(sign(ownClaims(), partner, AT_JWT))).toBe('TOKEN_INVALID')
    expect(await result(sign(ownClaims(), theirs, AT_JWT))).toBe('TOKEN_INVALID')
    expect(await result(sign(partnerClaims(), own))).toBe('TOKEN_INVALID')
    expect(await result(sign(theirClaims(), own, JWT))).toBe('TOKEN_INVALID')
  })

  test("an issuer can't sign for another issuer", async () => {
    expect(await result(sign(theirClaims(), partner, JWT))).toBe('TOKEN_INVALID')
    expect(await result(sign(partnerClaims(), theirs))).toBe('TOKEN_INVALID')
  })

  test('also if both sets have a key with the same id and algorithm', async () => {
    const same = { ...(await createSigningKey()), kid: ownJwk.kid }
    const both = withSets([ownJwk], [same])
    const impostor = await signerOf(same)
    expect(await result(sign(ownClaims(), own, AT_JWT), both)).toBe('accepted')
    expect(await result(sign(partnerClaims(), impostor), both)).toBe('accepted')
    expect(await result(sign(ownClaims(), impostor, AT_JWT), both)).toBe('TOKEN_INVALID')
    expect(await result(sign(partnerClaims(), own), both)).toBe('TOKEN_INVALID')
  })

  test('checks a token that names its issuer twice under one name only', async () => {
    const payload = JSON.stringify(ownClaims()).replace('{', `{"iss":"${PARTNER}",`)
    const input = [{ alg: partner.alg, kid: partner.kid }, payload]
      .map((part) =>
        Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'),
      )
      .join('.')
    const signature = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      partner.key,
      Buffer.from(input),
    )
    const token = `${input}.${Buffer.from(signature).toString('base64url')}`
    expect(await reasonOf(verifyJwt(token, config))).toBe('TOKEN_INVALID')
  })
})

describe('the cache separates the identities of several issuers', () => {
  test('for the same user and session', async () => {
    const tokens = await Promise.all([
      sign(ownClaims(), own, AT_JWT),
      sign(theirClaims(), theirs, JWT),
      sign(partnerClaims(), partner),
    ])
    for (let round = 0; round < 2; round++) {
      const identities = await Promise.all(tokens.map((token) => verifyJwt(token, config)))
      expect(identities.map(({ issuer }) => issuer)).toEqual([OWN, THEIRS, PARTNER])
    }
  })

  test('a change in any set verifies all tokens again, and a leak ends only its own', async () => {
    const [live, otherLive] = [createLiveKeys(), createLiveKeys()]
    const same = { ...(await createSigningKey()), kid: ownJwk.kid }
    const spare = toPublicJwk(partnerJwk)
    await live.replace([toPublicJwk(ownJwk), spare], [])
    await otherLive.replace([toPublicJwk(same), spare], [])
    const both = defineAuthConfig({
      baseUrl: OWN,
      jwks: live,
      trustedIssuers: [{ ...partnerIssuer, jwks: otherLive }],
    })
    const tokens = [await sign(ownClaims(), own, AT_JWT), await sign(partnerClaims(), await signerOf(same))]
    const identities = await Promise.all(tokens.map((token) => verifyJwt(token, both)))
    const cached = () => tokens.map((token) => both.identityCache.get(token, keysVersion(both))?.issuer)
    expect(cached()).toEqual([OWN, PARTNER])

    await otherLive.replace([spare], [same.kid])
    expect(cached()).toEqual([undefined, undefined])
    const [results, trusted] = [[], []] as [string[], string[]]
    const sessions = { findSession: async () => null }
    for (const [i, identity] of identities.entries()) {
      results.push(await reasonOf(verifyJwt(tokens[i] ?? '', both)))
      trusted.push(await reasonOf(validateIdentity(identity, { config: both, sessions })))
    }
    expect(results).toEqual(['accepted', 'TOKEN_INVALID'])
    expect(trusted).toEqual(['SESSION_NOT_FOUND', 'TOKEN_INVALID'])
  })
})

describe('rejects invalid issuers at startup', () => {
  test.each([
    ['one declared twice', [theirIssuer, { ...theirIssuer, audience: 'another' }]],
    ['ourselves', [{ ...theirIssuer, issuer: OWN }]],
  ])('%s', (_name, trustedIssuers) => {
    expect(() => defineAuthConfig({ baseUrl: OWN, jwks: theirIssuer.jwks, trustedIssuers })).toThrow(
      ConfigurationError,
    )
  })
})

test('accepts no other issuer if none is declared', async () => {
  const alone = defineAuthConfig({
    baseUrl: OWN,
    // Even if its key is in the server's set.
    jwks: staticJwks({ keys: [toPublicJwk(ownJwk), toPublicJwk(partnerJwk)] }),
  })
  expect(await result(sign(partnerClaims(), partner), alone)).toBe('TOKEN_INVALID')
  expect(await result(sign({ ...ownClaims(), iss: PARTNER }, partner, AT_JWT), alone)).toBe('TOKEN_INVALID')
})

test('an undeclared issuer causes no key lookup', async () => {
  let lookups = 0
  const counted = (jwks: KeySet): KeySet => ({
    ...jwks,
    findKey(kid) {
      lookups++
      return jwks.findKey(kid)
    },
  })
  const both = defineAuthConfig({
    baseUrl: OWN,
    jwks: counted(staticJwks({ keys: [toPublicJwk(ownJwk)] })),
    trustedIssuers: [{ ...partnerIssuer, jwks: counted(partnerIssuer.jwks) }],
  })
  const token = sign({ ...ownClaims(), iss: 'https://evil.example' }, own, AT_JWT)
  expect(await result(token, both)).toBe('TOKEN_INVALID')
  expect(lookups).toBe(0)
})
