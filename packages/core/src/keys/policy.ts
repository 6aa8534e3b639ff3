import * as z from 'zod/mini'
import { ConfigurationError } from '../errors.ts'
import { isBase64url } from '../jwt/base64url.ts'
import { ALGORITHMS, type VerificationAlgorithm } from './key-set.ts'

/** Most keys in one set; more points to a mistake and makes every unknown `kid` dearer. */
export const MAX_KEYS = 20

/** A number of so many bytes in canonical base64url (RFC 7518 section 6). */
const bytes = (length: number) =>
  z
    .string()
    .check(
      z.refine(
        (value) => value.length === Math.ceil((length * 4) / 3) && isBase64url(value),
        `must be ${length} bytes in base64url`,
      ),
    )

/** An RSA modulus of 2,048 to 8,192 bits without leading zeros (RFC 8725 section 3.5). */
const modulus = z
  .string()
  .check(
    z.refine(
      (value) => /^[^A].{340,1365}$/.test(value) && isBase64url(value),
      'must have 2,048 to 8,192 bits',
    ),
  )

const shared = {
  kid: z.string().check(z.regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable characters')),
  use: z.exactOptional(z.literal('sig')),
}

const elliptic = <Alg extends string, Curve extends string>(alg: Alg, crv: Curve, length: number) =>
  z.looseObject({
    alg: z.literal(alg),
    kty: z.literal('EC'),
    crv: z.literal(crv),
    x: bytes(length),
    y: bytes(length),
    ...shared,
  })

const rsa = <Alg extends string>(alg: Alg) =>
  z.looseObject({ alg: z.literal(alg), kty: z.literal('RSA'), n: modulus, e: z.literal('AQAB'), ...shared })

/** One shape an algorithm: a key is bound to its own and can be used with no other (RFC 8725 section 3.1). */
const publicKey = z.discriminatedUnion('alg', [
  z.looseObject({
    alg: z.literal('Ed25519'),
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: bytes(32),
    ...shared,
  }),
  elliptic('ES256', 'P-256', 32),
  elliptic('ES384', 'P-384', 48),
  elliptic('ES512', 'P-521', 66),
  rsa('RS256'),
  rsa('PS256'),
])

const privateMembers = z.looseObject({ alg: z.enum(ALGORITHMS), d: bytes(32) })

interface SharedMembers {
  kid: string
  use?: 'sig'
}

type OkpJwk = SharedMembers & { alg: 'Ed25519'; kty: 'OKP'; crv: 'Ed25519'; x: string }
type EllipticJwk<Alg, Curve> = SharedMembers & { alg: Alg; kty: 'EC'; crv: Curve; x: string; y: string }
type RsaJwk = SharedMembers & { alg: 'RS256' | 'PS256'; kty: 'RSA'; n: string; e: 'AQAB' }

/** A public key that passed the policy (RFC 7517, RFC 7518, RFC 8037). */
export type PublicJwk =
  | OkpJwk
  | EllipticJwk<'ES256', 'P-256'>
  | EllipticJwk<'ES384', 'P-384'>
  | EllipticJwk<'ES512', 'P-521'>
  | RsaJwk

/** A public key of our own. */
export type OwnPublicJwk = OkpJwk | EllipticJwk<'ES256', 'P-256'>

/** A key of our own with its private half. */
export type PrivateJwk = OwnPublicJwk & { d: string }

/** Members that hold a secret (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Checks a JWK Set of public keys whole: one key at fault refuses all of them.
 *
 * @throws ConfigurationError naming the member at fault
 */
export function parsePublicJwks(
  jwks: unknown,
  setting: string,
  algorithms: readonly VerificationAlgorithm[] = ALGORITHMS,
): PublicJwk[] {
  const { keys } = parseSet(jwks, setting)
  keys.forEach((key, index) => {
    const secret = SECRET_MEMBERS.find((member) => member in key)
    if (secret !== undefined) {
      throw new ConfigurationError(
        `${setting}: keys[${index}].${secret} is private; only public keys belong here`,
      )
    }
  })
  return parseEach(keys, setting, (key, member) => {
    if (!algorithms.some((algorithm) => algorithm === key.alg)) {
      throw new ConfigurationError(`${member('alg')} must be one of ${algorithms.join(', ')}`)
    }
    return key
  })
}

/**
 * Checks a JWK Set of private keys of our own whole.
 *
 * @throws ConfigurationError naming the member at fault; never quotes one
 */
export function parsePrivateJwks(jwks: unknown, setting: string): PrivateJwk[] {
  return parseEach(parseSet(jwks, setting).keys, setting, (key, member) => {
    if (key.alg !== 'Ed25519' && key.alg !== 'ES256') {
      throw new ConfigurationError(`${member('alg')} must be one of ${ALGORITHMS.join(', ')}`)
    }
    const parsed = privateMembers.safeParse(key)
    if (!parsed.success) throw new ConfigurationError(`${member('d')} must be 32 bytes in base64url`)
    return { ...key, d: parsed.data.d }
  })
}

/** The keys of a JWK Set as they stand there, and the set itself. */
export function parseSet(
  jwks: unknown,
  setting: string,
): { keys: Record<string, unknown>[]; set: Record<string, unknown> } {
  if (jwks === undefined)
    throw new ConfigurationError(`${setting} is not set. Make keys with "sallyport keys create"`)
  const parsed = jwkSet.safeParse(typeof jwks === 'string' ? parseText(jwks, setting) : jwks)
  if (!parsed.success) throw new ConfigurationError(`${setting} must be a JWK Set: { "keys": [ ... ] }`)
  const { keys } = parsed.data
  if (keys.length === 0) throw new ConfigurationError(`${setting} has no key`)
  if (keys.length > MAX_KEYS)
    throw new ConfigurationError(`${setting} has ${keys.length} keys; at most ${MAX_KEYS}`)
  return { keys, set: parsed.data }
}

const jwkSet = z.looseObject({ keys: z.array(z.looseObject({})) })

type Member = (name: string) => string

function parseEach<Key>(
  keys: readonly object[],
  setting: string,
  narrow: (key: PublicJwk, member: Member) => Key,
): Key[] {
  const seen = new Set<string>()
  return keys.map((key, index) => {
    const member: Member = (name) => `${setting}: keys[${index}].${name}`
    const parsed = publicKey.safeParse(key)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw new ConfigurationError(
        `${member(issue?.path.join('.') ?? '')} ${issue?.message ?? 'is not valid'}`,
      )
    }
    if (seen.has(parsed.data.kid)) throw new ConfigurationError(`${member('kid')} occurs twice`)
    seen.add(parsed.data.kid)
    return narrow(parsed.data, member)
  })
}

function parseText(text: string, setting: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message would quote the text, which may hold private keys.
    throw new ConfigurationError(
      `${setting} is not JSON${whatItIs(text)}. Make keys with "sallyport keys create"`,
    )
  }
}

/** The usual ways in which a key set in a variable goes wrong. */
function whatItIs(text: string): string {
  if (text.startsWith('\ufeff')) return ': it starts with a byte order mark'
  if (/^\s*['"`]/.test(text)) return ': it stands in quotes'
  if (text.includes('-----BEGIN')) return ': it is PEM, and a JWK Set is needed'
  if (text.trim() === '') return ': it is empty'
  return ''
}
