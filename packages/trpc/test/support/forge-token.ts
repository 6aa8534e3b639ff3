import { createHmac } from 'node:crypto'
import type { TestAuth, TestSession } from '@sallyport/core/testing'

/** What is unusual about a forged token. */
export interface Forgery {
  readonly header?: object
  readonly claims?: object
  /** Who signs: the server's own key, a key of the attacker's, the public key as an HMAC secret, or nobody. */
  readonly signer?: 'server' | 'attacker' | 'public key' | 'nobody'
}

const attacker = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])
/** The public key of the attacker, as a token may try to bring it along. */
export const ATTACKER_JWK: object = await crypto.subtle.exportKey('jwk', attacker.publicKey)

/** A token for a session that is valid but for the forgery. */
export async function forgeToken(
  { config, definition, clock }: TestAuth,
  { sessionId, userId }: TestSession,
  { header, claims, signer = 'server' }: Forgery,
): Promise<string> {
  const { kid, alg } = definition.signingKeys.active
  const iat = Math.floor(clock.now().getTime() / 1000)
  const { issuer: iss, audience: aud } = config
  const ids = { sub: userId, userId, sessionId, version: 1 }
  const common = { ...ids, iss, aud, iat, exp: iat + 900, jti: 'forged' }
  const input = `${segment({ alg, typ: 'at+jwt', kid, ...header })}.${segment({ ...common, ...claims })}`
  const signature = await sign(input, { signer, definition })
  return `${input}.${Buffer.from(signature).toString('base64url')}`
}

function segment(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

async function sign(
  input: string,
  { signer, definition }: { signer: Required<Forgery>['signer']; definition: TestAuth['definition'] },
): Promise<Uint8Array> {
  const bytes = Buffer.from(input)
  if (signer === 'nobody') return new Uint8Array()
  if (signer === 'public key') {
    const [jwk] = definition.signingKeys.publicJwks.keys
    return createHmac('sha256', JSON.stringify(jwk)).update(bytes).digest()
  }
  const key = signer === 'server' ? await definition.signingKeys.active.cryptoKey() : attacker.privateKey
  return new Uint8Array(await crypto.subtle.sign('Ed25519', key, bytes))
}
