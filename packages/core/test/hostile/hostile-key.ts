import { createECDH, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Algorithm } from '@sallyport/core'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import type { PrivateJwk, PublicJwk } from '../../src/keys/policy.ts'
import { toSegment } from '../support/forge-token.ts'
import type { Random } from './random.ts'

/** A key pair that is imported once, because it signs a million tokens. */
export interface HostileKey {
  readonly kid: string
  readonly alg: Algorithm
  readonly publicJwk: PublicJwk
  readonly publicKey: KeyObject
  sign(input: string): Buffer
  /** Returns a token over two segments, each given as text, bytes, or a value to write as JSON. */
  seal(header: unknown, payload: unknown): string
  /** Returns a token over two segments, unchanged. */
  sealSegments(header: string, payload: string): string
}

/** Returns the same key for the same seed. */
export function createHostileKey(alg: Algorithm, random: Random): HostileKey {
  const jwk = alg === 'ES256' ? ellipticJwk(random) : edwardsJwk(random)
  const privateKey = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  const publicJwk = toPublicJwk(jwk)
  const digest = alg === 'ES256' ? 'sha256' : null

  const signInput = (input: string) =>
    sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const sealSegments = (header: string, payload: string) =>
    `${header}.${payload}.${signInput(`${header}.${payload}`).toString('base64url')}`

  return {
    kid: jwk.kid,
    alg,
    publicJwk,
    publicKey: createPublicKey({ key: { ...publicJwk }, format: 'jwk' }),
    sign: signInput,
    seal: (header, payload) => sealSegments(toSegment(header), toSegment(payload)),
    sealSegments,
  }
}

/** The PKCS #8 prefix of an Ed25519 private key (RFC 8410 section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

function edwardsJwk(random: Random): PrivateJwk {
  const d = random.bytes(32)
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_ED25519, d]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { kty: 'OKP', crv: 'Ed25519', alg: 'Ed25519', kid: createKid(random), x, d: d.toString('base64url') }
}

function ellipticJwk(random: Random): PrivateJwk {
  const d = random.bytes(32)
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(d)
  const point = curve.getPublicKey()
  const x = point.subarray(1, 33).toString('base64url')
  const y = point.subarray(33).toString('base64url')
  return { kty: 'EC', crv: 'P-256', alg: 'ES256', kid: createKid(random), x, y, d: d.toString('base64url') }
}

const createKid = (random: Random) => random.bytes(32).toString('base64url')
