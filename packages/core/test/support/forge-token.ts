import { createPrivateKey, sign } from 'node:crypto'
import type { PrivateJwk } from '../../src/keys/policy.ts'

/** Returns a segment of a token: text and bytes unchanged, anything else as JSON. */
export function toSegment(value: unknown): string {
  const bytes = typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value)
  return Buffer.from(bytes).toString('base64url')
}

/** Signs two segments of any content, with `node:crypto` instead of the library under test. */
export function sealToken(key: PrivateJwk, headerSegment: string, payloadSegment: string): string {
  const input = `${headerSegment}.${payloadSegment}`
  const privateKey = createPrivateKey({ key: { ...key }, format: 'jwk' })
  const digest = key.alg === 'ES256' ? 'sha256' : null
  const signature = sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}
