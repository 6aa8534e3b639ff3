import { base64url } from 'jose'
import { isBase64url } from '../jwt/base64url.ts'

const RANDOM_BYTES = 32
const VERSION_BYTES = 4

/** Creates a secret: 256 random bits in base64url, which no table has in clear. */
export function createSecret(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))
}

/**
 * Creates the secret of a session version: 256 random bits, the version, and a MAC over both. By the MAC, an
 * earlier secret of the session is recognized without being stored. The secret lives in the session cookie
 * only.
 *
 * @param family the key of the MAC, from {@link createFamily}
 */
export async function createSessionSecret(family: string, version: number): Promise<string> {
  const signed = new Uint8Array(RANDOM_BYTES + VERSION_BYTES)
  crypto.getRandomValues(signed.subarray(0, RANDOM_BYTES))
  new DataView(signed.buffer).setUint32(RANDOM_BYTES, version)
  const mac = await crypto.subtle.sign('HMAC', await importFamily(family), signed)
  return base64url.encode(new Uint8Array([...signed, ...new Uint8Array(mac)]))
}

/**
 * Creates the MAC key of a session. With it, an attacker can make a secret look superseded or end the
 * session; nothing else.
 */
export function createFamily(): string {
  return createSecret()
}

/** Returns the version of a secret that we ever issued for this session; null for any other text. */
export async function versionOfSecret(secret: string, family: string): Promise<number | null> {
  // Another spelling of the same bytes, such as with padding, would be a second secret.
  if (!isBase64url(secret)) return null
  const bytes = new Uint8Array(base64url.decode(secret))
  const signedBytes = RANDOM_BYTES + VERSION_BYTES
  if (bytes.length <= signedBytes) return null
  const [signed, mac] = [bytes.slice(0, signedBytes), bytes.slice(signedBytes)]
  if (!(await crypto.subtle.verify('HMAC', await importFamily(family), mac, signed))) return null
  return new DataView(signed.buffer).getUint32(RANDOM_BYTES)
}

/**
 * Returns what the column `token` holds for a secret: `sha256:<hex>`. The secret is random, so it needs
 * neither salt nor stretching.
 */
export async function hashSecret(secret: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret)))
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function importFamily(family: string): ReturnType<typeof crypto.subtle.importKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', new Uint8Array(base64url.decode(family)), algorithm, false, [
    'sign',
    'verify',
  ])
}
