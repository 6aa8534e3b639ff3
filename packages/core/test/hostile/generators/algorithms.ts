import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

const NAMES: readonly unknown[] = [
  ...['none', 'None', 'NONE', 'nOnE', 'none ', '', ' ', '\u0000', 'null', 'undefined'],
  ...['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['Ed25519', 'ES256', 'EdDSA', 'Ed448', 'ES256K', 'ES384', 'ES512', 'SM2', 'SHA256'],
  ...['ed25519', 'ED25519', 'es256', 'Es256', 'ES256 ', ' Ed25519', 'Ed25519\u0000', 'ES256\n', 'ＥＳ２５６'],
  ...['dir', 'A256KW', 'A128GCMKW', 'RSA-OAEP', 'RSA1_5', 'ECDH-ES', 'PBES2-HS256+A128KW', 'A256GCM'],
  ...['__proto__', 'constructor', 'toString', 'alg', '../none', 'Ed25519,ES256'],
  ...[null, true, 0, 1, ['Ed25519'], ['none', 'Ed25519'], { alg: 'Ed25519' }, {}, []],
]

/** The order of the P-256 group, which is out of range for a signature. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const ONE = Buffer.alloc(32).with(31, 1)

/** Signatures that are never correct, including zeros and other numbers that careless arithmetic accepts. */
const BLANKS: readonly Uint8Array[] = [
  ...[0, 1, 32, 48, 63, 64, 65, 96, 132, 256].map((length) => Buffer.alloc(length)),
  Buffer.alloc(64, 0xff),
  Buffer.concat([ORDER, ORDER]),
  Buffer.concat([ONE, ORDER]),
  Buffer.concat([ONE, ONE]),
  Buffer.concat([Buffer.alloc(32), ONE]),
  Buffer.from('300602010102010130', 'hex'),
]

/**
 * Combines every algorithm with every `kid`, signed with each key and with none, except the correct
 * combinations.
 */
export function chooseAlgorithm(random: Random, target: Target): string {
  const { ownKeys, strangers, retiredKeys, live } = target
  const alg = random.chance(0.4) ? random.pick(['Ed25519', 'ES256']) : random.pick(NAMES)
  const named = random.pick(ownKeys)
  const signer = random.pick([...ownKeys, ...strangers, ...retiredKeys, null, null])
  if (alg === named.alg && signer === named) return chooseAlgorithm(random, target)

  const header = { alg, typ: 'at+jwt', kid: named.kid }
  const payload = target.claims(random.pick(live))
  if (signer !== null) return signer.seal(header, payload)
  const signature = random.chance(0.5) ? random.pick(BLANKS) : random.bytes(64)
  return [JSON.stringify(header), JSON.stringify(payload), signature]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
}
