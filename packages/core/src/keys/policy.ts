import { isBase64url, isJsonObject, type JsonObject } from '../jwt/encoding.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { ALGORITHMS, type VerificationAlgorithm } from './key-set.ts'

/** More keys in one set are a mistake, and make every unknown `kid` more expensive. */
export const MAX_KEYS = 20

const CREATE = 'npx sallyport keys create'

/** The end of an error message about a variable. The command can't correct a file, or the set at a URL. */
const adviceFor = (setting: string) => (/\W/.test(setting) ? '' : ` Run \`${CREATE}\`.`)

/** A check of a member, and the end of its error message. */
type Rule = readonly [test: (value: string) => boolean, text: string]

const exactly = (expected: string): Rule => [(value) => value === expected, `must be ${expected}`]

/** A number of this length in canonical base64url (RFC 7518 section 6). */
const bytes = (length: number): Rule => [
  (value) => value.length === Math.ceil((length * 4) / 3) && isBase64url(value),
  `must be ${length} bytes in base64url`,
]

/** An RSA modulus without leading zeros (RFC 8725 section 3.5). */
const modulus: Rule = [
  (value) => /^[^A].{340,1365}$/.test(value) && isBase64url(value),
  'must have 2,048 to 8,192 bits',
]

const keyId: Rule = [(value) => /^[\x21-\x7e]{1,128}$/.test(value), 'must be 1 to 128 printable characters']

const elliptic = (curve: string, length: number) => {
  return { kty: exactly('EC'), crv: exactly(curve), x: bytes(length), y: bytes(length), kid: keyId }
}

const rsa = { kty: exactly('RSA'), n: modulus, e: exactly('AQAB'), kid: keyId }

const ed25519 = { kty: exactly('OKP'), crv: exactly('Ed25519'), x: bytes(32), kid: keyId }

/** One shape per algorithm: a key works with its own algorithm only (RFC 8725 section 3.1). */
const MEMBERS: Readonly<Record<VerificationAlgorithm, Readonly<Record<string, Rule>>>> = {
  Ed25519: ed25519,
  EdDSA: ed25519,
  ES256: elliptic('P-256', 32),
  ES384: elliptic('P-384', 48),
  ES512: elliptic('P-521', 66),
  RS256: rsa,
  PS256: rsa,
}

type SharedMembers = { kid: string; use?: 'sig' }

type OkpJwk<Alg> = SharedMembers & { alg: Alg; kty: 'OKP'; crv: 'Ed25519'; x: string }
type EllipticJwk<Alg, Curve> = SharedMembers & { alg: Alg; kty: 'EC'; crv: Curve; x: string; y: string }
type RsaJwk = SharedMembers & { alg: 'RS256' | 'PS256'; kty: 'RSA'; n: string; e: 'AQAB' }

/** A public key that passed the policy (RFC 7517, RFC 7518, RFC 8037). */
export type PublicJwk =
  | OkpJwk<'Ed25519' | 'EdDSA'>
  | EllipticJwk<'ES256', 'P-256'>
  | EllipticJwk<'ES384', 'P-384'>
  | EllipticJwk<'ES512', 'P-521'>
  | RsaJwk

/** One of our own public keys. */
export type OwnPublicJwk = OkpJwk<'Ed25519'> | EllipticJwk<'ES256', 'P-256'>

/** One of our own keys with its private half. */
export type PrivateJwk = OwnPublicJwk & { d: string }

/** Secret members (RFC 7518 sections 6.2.2, 6.3.2, and 6.4). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Parses public keys. One invalid key rejects all.
 * @param setting the name of the variable, or the URL of a set that was fetched
 * @throws ConfigurationError naming the member
 */
export function parsePublicJwks(
  jwks: unknown,
  setting: string,
  algorithms: readonly VerificationAlgorithm[] = ALGORITHMS,
): PublicJwk[] {
  return parseEach(jwks, setting, (key, member): asserts key is PublicJwk => {
    const secret = SECRET_MEMBERS.find((name) => name in key)
    if (secret !== undefined)
      throw new ConfigurationError(`${member(secret)} is private. Set the public keys here.`)
    requirePublicKey(key, algorithms, member)
  })
}

/** Parses our own private keys. @throws ConfigurationError naming the member, without its value */
export function parsePrivateJwks(jwks: unknown, setting: string): PrivateJwk[] {
  return parseEach(jwks, setting, requirePrivateKey)
}

/** Parses a JWK Set without checking its keys. Returns copies, so later changes of `jwks` have no effect. */
export function parseSet(jwks: unknown, setting: string): { keys: JsonObject[]; set: JsonObject } {
  if (jwks === undefined) {
    const prefix = setting.replace(/(SIGNING_KEYS|JWKS)$/, '')
    const command = `${CREATE}${prefix && ` --prefix ${prefix}`}`
    throw new ConfigurationError(
      `${setting} is not set. Load .env, or run \`${command} --env .env --create\`.`,
    )
  }
  const set = typeof jwks === 'string' ? parseText(jwks, setting) : jwks
  if (!isJsonObject(set) || !isObjectList(set.keys))
    throw new ConfigurationError(`${setting} must be a JWK Set: { "keys": [ ... ] }`)
  const keys = set.keys.map(snapshot)
  if (keys.length === 0) throw new ConfigurationError(`${setting} has no keys.${adviceFor(setting)}`)
  if (keys.length > MAX_KEYS)
    throw new ConfigurationError(`${setting} has ${keys.length} keys. Keep at most ${MAX_KEYS}.`)
  return { keys, set: { ...set, keys } }
}

function isObjectList(value: unknown): value is JsonObject[] {
  // Spread, because `every` skips holes.
  return Array.isArray(value) && [...value].every(isJsonObject)
}

/** Copies a key with sorted members, so sets that differ only in their order are the same. */
function snapshot(key: JsonObject): JsonObject {
  const names = Object.keys(key).sort()
  return Object.fromEntries(names.map((name) => [name, key[name]]))
}

type Member = (name: string) => string

function parseEach<Key extends PublicJwk>(
  jwks: unknown,
  setting: string,
  requireKey: (key: JsonObject, member: Member) => asserts key is Key,
): Key[] {
  const seen = new Set<string>()
  return parseSet(jwks, setting).keys.map((key, index) => {
    const member: Member = (name) => `${setting}: keys[${index}].${name}`
    requireKey(key, member)
    if (seen.has(key.kid)) throw new ConfigurationError(`${member('kid')} occurs twice. Remove one.`)
    seen.add(key.kid)
    return key
  })
}

function requirePublicKey(
  key: JsonObject,
  algorithms: readonly VerificationAlgorithm[],
  member: Member,
): asserts key is PublicJwk {
  const alg = algorithms.find((algorithm) => algorithm === key.alg)
  if (alg === undefined)
    throw new ConfigurationError(`${member('alg')} must be one of ${algorithms.join(', ')}`)
  requireMembers(key, MEMBERS[alg], member)
  if ('use' in key && key.use !== 'sig') throw new ConfigurationError(`${member('use')} must be sig`)
}

function requirePrivateKey(key: JsonObject, member: Member): asserts key is PrivateJwk {
  requirePublicKey(key, ALGORITHMS, member)
  requireMembers(key, { d: bytes(32) }, member)
}

function requireMembers(key: JsonObject, rules: Readonly<Record<string, Rule>>, member: Member): void {
  for (const [name, [test, text]] of Object.entries(rules)) {
    const value = key[name]
    if (typeof value !== 'string' || !test(value)) throw new ConfigurationError(`${member(name)} ${text}`)
  }
}

function parseText(text: string, setting: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message would quote the text, which may hold private keys.
    throw new ConfigurationError(`${setting} is not JSON${describeMistake(text)}.${adviceFor(setting)}`)
  }
}

function describeMistake(text: string): string {
  if (text.startsWith('\ufeff')) return ': it starts with a byte order mark'
  if (/^\s*['"`]/.test(text)) return ': it is in quotes'
  if (text.includes('-----BEGIN')) return ': it is PEM, not a JWK Set'
  if (!text.trim()) return ': it is empty'
  return ''
}
