import type { HostileKey } from '../hostile-key.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/**
 * Members that other verifiers obey: they embed a key, name a URL to fetch it from, or change what is signed.
 */
const MEMBERS: readonly ((signer: HostileKey, random: Random) => object)[] = [
  ({ publicJwk }) => ({ jwk: publicJwk }),
  ({ publicJwk }) => ({ jwk: { ...publicJwk, kid: undefined, use: undefined } }),
  () => ({ jku: 'https://evil.example/jwks.json' }),
  () => ({ jku: 'http://169.254.169.254/latest/meta-data' }),
  () => ({ jku: 'file:///etc/passwd' }),
  () => ({ jku: 'http://localhost:3000/api/auth/jwks' }),
  () => ({ x5u: 'https://evil.example/certificate.pem' }),
  ({ publicKey }) => ({ x5c: [publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] }),
  () => ({ x5c: [] }),
  (_signer, random) => ({ x5t: random.bytes(20).toString('base64url') }),
  (_signer, random) => ({ 'x5t#S256': random.bytes(32).toString('base64url') }),
  () => ({ crit: [] }),
  () => ({ crit: ['exp'], exp: 1 }),
  () => ({ crit: ['b64'], b64: false }),
  () => ({ b64: false }),
  () => ({ b64: true }),
  () => ({ zip: 'DEF' }),
  () => ({ cty: 'JWT' }),
  () => ({ enc: 'A256GCM' }),
  ({ publicJwk }) => ({ epk: publicJwk, apu: 'AA', apv: 'AA' }),
  () => ({ p2c: 2_147_483_647, p2s: 'AAAAAAAA' }),
  () => ({ nonce: '0', url: 'http://localhost:3000' }),
  (_signer, random) => ({ [random.bytes(4).toString('hex')]: random.bytes(8).toString('hex') }),
]

/** Adds one to three members to a header, signed with the embedded key, another key, or the real key. */
export function addHeaderMembers(random: Random, target: Target): string {
  const { ownKeys, strangers } = target
  const signer = random.pick([...strangers, ...strangers, ...ownKeys])
  const named = random.pick([signer, ...ownKeys])
  const members = Array.from({ length: 1 + random.below(3) }, () => random.pick(MEMBERS)(signer, random))
  const header = { alg: signer.alg, typ: 'at+jwt', kid: named.kid }
  return signer.seal(Object.assign({}, header, ...members), target.claims(random.pick(target.live)))
}
