import * as z from 'zod/mini'
import { ConfigurationError } from '../errors.ts'
import { isBase64url } from '../jwt/base64url.ts'

/** Most keys in one set; more points to a mistake and makes every unknown `kid` dearer. */
const MAX_KEYS = 20

/** 32 bytes in canonical base64url: a coordinate or a private scalar of either curve. */
const bytes32 = z
  .string()
  .check(z.refine((value) => value.length === 43 && isBase64url(value), 'must be 32 bytes in base64url'))

const shared = {
  kid: z.string().check(z.regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable characters')),
  use: z.exactOptional(z.literal('sig')),
}

const publicKey = z.discriminatedUnion('alg', [
  z.looseObject({
    alg: z.literal('Ed25519'),
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: bytes32,
    ...shared,
  }),
  z.looseObject({
    alg: z.literal('ES256'),
    kty: z.literal('EC'),
    crv: z.literal('P-256'),
    x: bytes32,
    y: bytes32,
    ...shared,
  }),
])

const privateKey = z.intersection(publicKey, z.looseObject({ d: bytes32 }))

interface SharedMembers {
  kid: string
  use?: 'sig'
}

/** A public key that passed the policy (RFC 7517, RFC 8037). */
export type PublicJwk = SharedMembers &
  (
    | { alg: 'Ed25519'; kty: 'OKP'; crv: 'Ed25519'; x: string }
    | { alg: 'ES256'; kty: 'EC'; crv: 'P-256'; x: string; y: string }
  )

/** A key with its private half. */
export type PrivateJwk = PublicJwk & { d: string }

/** Members that hold a secret (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Checks a JWK Set of public keys whole: one key at fault refuses all of them.
 *
 * @throws ConfigurationError naming the member at fault
 */
export function parsePublicJwks(jwks: unknown, setting: string): PublicJwk[] {
  const keys = parseKeys(jwks, setting)
  keys.forEach((key, index) => {
    const secret = SECRET_MEMBERS.find((member) => member in key)
    if (secret !== undefined) {
      throw new ConfigurationError(
        `${setting}: keys[${index}].${secret} is private; only public keys belong here`,
      )
    }
  })
  return parseEach(keys, publicKey, setting)
}

/**
 * Checks a JWK Set of private keys whole.
 *
 * @throws ConfigurationError naming the member at fault
 */
export function parsePrivateJwks(jwks: unknown, setting: string): PrivateJwk[] {
  return parseEach(parseKeys(jwks, setting), privateKey, setting)
}

function parseKeys(jwks: unknown, setting: string): object[] {
  const set = typeof jwks === 'string' ? parseText(jwks, setting) : jwks
  const parsed = z.looseObject({ keys: z.array(z.looseObject({})) }).safeParse(set)
  if (!parsed.success) throw new ConfigurationError(`${setting} must be a JWK Set: { "keys": [ ... ] }`)
  const { keys } = parsed.data
  if (keys.length === 0) throw new ConfigurationError(`${setting} has no key`)
  if (keys.length > MAX_KEYS)
    throw new ConfigurationError(`${setting} has ${keys.length} keys; at most ${MAX_KEYS}`)
  return keys
}

function parseEach<Schema extends z.ZodMiniType<{ kid: string }>>(
  keys: object[],
  schema: Schema,
  setting: string,
): z.infer<Schema>[] {
  const seen = new Set<string>()
  return keys.map((key, index) => {
    const parsed = schema.safeParse(key)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      const member = issue?.path.join('.') ?? ''
      throw new ConfigurationError(`${setting}: keys[${index}].${member} ${issue?.message ?? 'is not valid'}`)
    }
    if (seen.has(parsed.data.kid)) throw new ConfigurationError(`${setting}: keys[${index}].kid occurs twice`)
    seen.add(parsed.data.kid)
    return parsed.data
  })
}

function parseText(text: string, setting: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message would quote the text, which may hold private keys.
    throw new ConfigurationError(`${setting} is not JSON. Make keys with "sallyport keys create"`)
  }
}
