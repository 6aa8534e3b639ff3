import { base64url } from 'jose'
import { isBase64url } from '../jwt/encoding.ts'
import { hashText } from './hash-text.ts'
import { isInGrace } from './lifetime.ts'
import type { SessionToken } from './session.ts'

const RANDOM_BYTES = 32
const VERSION_BYTES = 4

/**
 * Used instead of WebCrypto where it exists, because WebCrypto ends the turn of the event loop. In a
 * transaction, a write of the app's own SQLite client would then block the process until it times out. On the
 * edge of Next.js, `process` has no versions, and its functions throw.
 */
const node = globalThis.process?.versions?.node
  ? globalThis.process.getBuiltinModule?.('node:crypto')
  : undefined

/** Creates a secret: 256 random bits in base64url. Tables store only its hash. */
export function createSecret(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))
}

/**
 * Creates the secret of a session version: 256 random bits, the version, and a MAC over both. The MAC
 * identifies earlier secrets of the session without storing them. Only the session cookie has the secret.
 * @param family the key of the MAC, from {@link createSecret}. An attacker who has it can end the session
 */
export async function createSessionSecret(family: string, version: number): Promise<string> {
  const signed = new Uint8Array(RANDOM_BYTES + VERSION_BYTES)
  crypto.getRandomValues(signed.subarray(0, RANDOM_BYTES))
  new DataView(signed.buffer).setUint32(RANDOM_BYTES, version)
  return base64url.encode(new Uint8Array([...signed, ...(await macOf(family, signed))]))
}

type SecretColumns = Omit<SessionToken, 'userId' | 'expiresAt' | 'createdAt' | 'lastSeenAt' | 'remembered'>

/** Creates a secret, and the columns that store it and invalidate earlier secrets. */
export async function createCredentials(
  version: number,
  tokenFamily: string = createSecret(),
): Promise<{ secret: string; columns: SecretColumns }> {
  const secret = await createSessionSecret(tokenFamily, version)
  const token = await hashSecret(secret)
  const previous = { previousToken: null, rotatedAt: null }
  return { secret, columns: { token, tokenFamily, version, provedVersion: version, ...previous } }
}

/** Returns the version of a secret that we issued for this session; null for any other text. */
export async function versionOfSecret(secret: string, family: string): Promise<number | null> {
  // Another spelling of the same bytes, such as with padding, would be a second secret.
  if (!isBase64url(secret)) return null
  const bytes = new Uint8Array(base64url.decode(secret))
  const signedBytes = RANDOM_BYTES + VERSION_BYTES
  const [signed, mac] = [bytes.slice(0, signedBytes), bytes.slice(signedBytes)]
  const own = await macOf(family, signed)
  // Compares hashes, so its timing reveals nothing about the right one.
  if ((await hashSecret(base64url.encode(own))) !== (await hashSecret(base64url.encode(mac)))) return null
  return new DataView(signed.buffer).getUint32(RANDOM_BYTES)
}

/** Returns `sha256:<hex>`, for tables. A secret is random, so it needs neither salt nor stretching. */
export async function hashSecret(secret: string): Promise<string> {
  if (node === undefined) return hashText(secret)
  return `sha256:${node.createHash('sha256').update(secret).digest('hex')}`
}

/**
 * - `current`
 * - `previous`: a refresh rotated it out a moment ago, and it is still valid
 * - `replayed`: rotated out earlier, so the cookie was copied
 * - `superseded`: issued before the user last proved who they are, so a leftover copy
 * - `unknown`: not issued by us for this session
 */
export type SecretStatus = 'current' | 'previous' | 'replayed' | 'superseded' | 'unknown'

/** Returns the status of a secret. Compares hashes, so its timing reveals nothing about the secret. */
export async function secretStatus(
  secret: string,
  session: Pick<SessionToken, 'token' | 'previousToken' | 'rotatedAt' | 'tokenFamily' | 'provedVersion'>,
  now: Date,
): Promise<SecretStatus> {
  const hash = await hashSecret(secret)
  if (hash === session.token) return 'current'
  if (hash === session.previousToken && isInGrace(session.rotatedAt, now)) return 'previous'
  if (session.tokenFamily === null) return 'unknown'
  const version = await versionOfSecret(secret, session.tokenFamily)
  if (version === null) return 'unknown'
  return version < session.provedVersion ? 'superseded' : 'replayed'
}

async function macOf(family: string, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const key = new Uint8Array(base64url.decode(family))
  if (node !== undefined) return node.createHmac('sha256', key).update(bytes).digest()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytes))
}
