import { type KeySet, staticJwks, type VerificationAlgorithm } from '@sallyport/core'
import { CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { verifyJws } from '../../src/jwt/verify-jws.ts'
import { messageOf } from '../support/message-of.ts'
import { reasonOf } from '../support/reason-of.ts'

const WIDENED = ['EdDSA', 'RS256', 'PS256', 'ES384', 'ES512'] as const
const ALL: readonly VerificationAlgorithm[] = ['Ed25519', 'ES256', ...WIDENED]

/** A key pair of another issuer. */
interface Pair {
  readonly alg: string
  readonly publicJwk: JWK
  readonly privateKey: CryptoKey
}

async function newPair(alg: string): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    alg,
    publicJwk: { ...(await exportJWK(publicKey)), alg, kid: `their ${alg}`.replace(' ', '-') },
    privateKey,
  }
}

const pairs = Object.fromEntries(
  await Promise.all(ALL.map(async (alg) => [alg, await newPair(alg)] as const)),
)

function pairOf(alg: string): Pair {
  const pair = pairs[alg]
  if (pair === undefined) throw new TypeError(`No pair for ${alg}`)
  return pair
}

async function sign(
  alg: string,
  { privateKey, kid }: { privateKey: CryptoKey; kid: string },
): Promise<string> {
  return new CompactSign(Buffer.from('{}')).setProtectedHeader({ alg, kid }).sign(privateKey)
}

const setOf = (jwks: JWK[], algorithms: readonly VerificationAlgorithm[]): KeySet =>
  staticJwks({ keys: jwks }, { algorithms })

describe.each(WIDENED)('%s', (alg) => {
  const { publicJwk, privateKey } = pairOf(alg)
  const kid = publicJwk.kid ?? ''

  test('is rejected unless it is allowed', () => {
    const others = ALL.filter((other) => other !== alg)
    expect(messageOf(() => staticJwks({ keys: [publicJwk] }))).toBe(
      'JWKS: keys[0].alg must be one of Ed25519, ES256',
    )
    expect(messageOf(() => setOf([publicJwk], others))).toContain('JWKS: keys[0].alg must be one of')
  })

  test('verifies its own tokens if it is allowed', async () => {
    const token = await sign(alg, { privateKey, kid })
    expect(await reasonOf(verifyJws(token, setOf([publicJwk], [alg]), { typ: null }))).toBe('accepted')
    expect(await reasonOf(verifyJws(token, staticJwks({ keys: [pairOf('Ed25519').publicJwk] })))).toBe(
      'TOKEN_INVALID',
    )
  })

  test('rejects a token whose signature was changed', async () => {
    const [header, , signature] = (await sign(alg, { privateKey, kid })).split('.')
    const token = `${header}.${Buffer.from('{"a":1}').toString('base64url')}.${signature}`
    expect(await reasonOf(verifyJws(token, setOf([publicJwk], ALL)))).toBe('TOKEN_INVALID')
  })

  test('is bound to its key: rejects a token that names the key under another algorithm', async () => {
    const set = setOf([publicJwk], ALL)
    for (const other of ALL.filter((candidate) => candidate !== alg)) {
      const token = await sign(other, { privateKey: pairOf(other).privateKey, kid })
      expect([other, await reasonOf(verifyJws(token, set))]).toEqual([other, 'TOKEN_INVALID'])
    }
  })
})

test("one RSA key can't serve both of its algorithms", async () => {
  const { publicJwk } = pairOf('RS256')
  const jwk = await exportJWK(pairOf('RS256').privateKey)
  const asPs256 = await importJWK({ ...jwk, alg: 'PS256' }, 'PS256')
  if (asPs256 instanceof Uint8Array) throw new TypeError('A key was expected')
  const token = await sign('PS256', { privateKey: asPs256, kid: publicJwk.kid ?? '' })
  expect(await reasonOf(verifyJws(token, setOf([publicJwk], ALL)))).toBe('TOKEN_INVALID')
  expect(await reasonOf(verifyJws(token, setOf([{ ...publicJwk, alg: 'PS256' }], ALL)))).toBe('accepted')
})

describe('rejects a weak or malformed key by the name of its member', () => {
  const { publicJwk: rsa } = pairOf('RS256')
  const { publicJwk: es384 } = pairOf('ES384')
  const { publicJwk: es512 } = pairOf('ES512')
  const { publicJwk: eddsa } = pairOf('EdDSA')
  const bytes = (count: number, first = 0xff) =>
    Buffer.from([first, ...Buffer.alloc(count - 1, 0x55)]).toString('base64url')
  const withZero = Buffer.concat([Buffer.of(0), Buffer.from(rsa.n ?? '', 'base64url')]).toString('base64url')

  test.each<[string, string, JWK]>([
    ['n', '1,024 bits', { ...rsa, n: bytes(128) }],
    ['n', '1,536 bits', { ...rsa, n: bytes(192) }],
    ['n', '2,040 bits', { ...rsa, n: bytes(255) }],
    ['n', 'a leading zero', { ...rsa, n: withZero }],
    ['n', '1,024 bits and zeros', { ...rsa, n: bytes(256, 0) }],
    ['n', '8,200 bits', { ...rsa, n: bytes(1_025) }],
    ['n', '64 KB', { ...rsa, n: bytes(65_536) }],
    ['n', 'padding', { ...rsa, n: `${rsa.n}=` }],
    ['n', 'a number', { ...rsa, n: 1 } as object],
    ['n', 'nothing', { ...rsa, n: undefined } as object],
    ['e', 'an exponent of 3', { ...rsa, e: 'Aw' }],
    ['e', 'an exponent of 1', { ...rsa, e: 'AQ' }],
    ['e', 'an exponent with a leading zero', { ...rsa, e: 'AAEAAQ' }],
    ['e', 'nothing', { ...rsa, e: undefined } as object],
    ['kty', 'RS256 of an elliptic curve', { ...es384, alg: 'RS256' }],
    ['kty', 'ES384 of RSA', { ...rsa, alg: 'ES384' }],
    ['crv', 'ES384 on P-521', { ...es512, alg: 'ES384' }],
    ['crv', 'ES512 on P-384', { ...es384, alg: 'ES512' }],
    ['crv', 'ES512 on a curve of that name', { ...es512, crv: 'P-512' }],
    ['x', 'ES384 with 47 bytes', { ...es384, x: bytes(47) }],
    ['x', 'ES384 with 49 bytes', { ...es384, x: bytes(49) }],
    ['y', 'ES384 with 32 bytes', { ...es384, y: bytes(32) }],
    ['x', 'ES512 with 64 bytes', { ...es512, x: bytes(64) }],
    ['x', 'ES512 with 65 bytes', { ...es512, x: bytes(65) }],
    ['y', 'ES512 with 67 bytes', { ...es512, y: bytes(67) }],
    ['crv', 'EdDSA on Ed448', { ...eddsa, crv: 'Ed448' }],
    ['x', 'EdDSA with 57 bytes', { ...eddsa, x: bytes(57) }],
    ['kty', 'EdDSA of an elliptic curve', { ...es384, alg: 'EdDSA' }],
    ['alg', 'RS512', { ...rsa, alg: 'RS512' }],
    ['alg', 'RSA-OAEP', { ...rsa, alg: 'RSA-OAEP' }],
    ['alg', 'no algorithm', { ...rsa, alg: undefined } as object],
    ['use', 'a key for encryption', { ...rsa, use: 'enc' }],
  ])('%s: %s', (member, _fault, jwk) => {
    expect(messageOf(() => setOf([jwk], ALL))).toMatch(new RegExp(`^JWKS: keys\\[0\\]\\.${member} \\S`))
  })

  test.each([2_048, 3_072, 4_096, 8_192])('accepts a modulus of %i bits', (bits) => {
    expect(messageOf(() => setOf([{ ...rsa, n: bytes(bits / 8) }], ALL))).toBe('accepted')
  })
})
