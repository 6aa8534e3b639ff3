import { createHmac } from 'node:crypto'
import { toSegment } from '../../support/forge-token.ts'
import type { HostileKey } from '../hostile-key.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** The public key in its usual encodings: all that a verifier could mistake for an HMAC secret. */
const ENCODINGS: readonly ((key: HostileKey) => string | Buffer)[] = [
  (key) => point(key),
  (key) => point(key).toString('base64'),
  (key) => point(key).toString('base64url'),
  (key) => point(key).toString('hex'),
  (key) => point(key).toString('hex').toUpperCase(),
  ({ publicKey }) => publicKey.export({ type: 'spki', format: 'der' }),
  (key) => pem(key),
  (key) => pem(key).replaceAll('\n', '\r\n'),
  (key) => pem(key).trimEnd(),
  (key) => pem(key).replaceAll('\n', ''),
  ({ publicJwk }) => JSON.stringify(publicJwk),
  ({ publicJwk }) => JSON.stringify({ keys: [publicJwk] }),
]

const ALGORITHMS = ['HS256', 'HS384', 'HS512', 'Ed25519', 'ES256'] as const
const DIGESTS = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512', Ed25519: 'sha512', ES256: 'sha512' }

/** Signs a token with an HMAC keyed with the public key. Its `alg` is HMAC or that of the key. */
export function keyHmacWithPublicKey(random: Random, { ownKeys, claims, live }: Target): string {
  const key = random.pick(ownKeys)
  const alg = random.pick(ALGORITHMS)
  const input = `${toSegment({ alg, typ: 'at+jwt', kid: key.kid })}.${toSegment(claims(random.pick(live)))}`
  const signature = createHmac(DIGESTS[alg], random.pick(ENCODINGS)(key)).update(input).digest('base64url')
  return `${input}.${signature}`
}

function point({ publicJwk }: HostileKey): Buffer {
  const { x, y } = { y: '', x: '', ...publicJwk }
  return Buffer.concat([Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}

function pem({ publicKey }: HostileKey): string {
  return publicKey.export({ type: 'spki', format: 'pem' }).toString()
}
