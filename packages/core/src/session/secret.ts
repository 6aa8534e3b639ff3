import { base64url } from 'jose'

const RANDOM_BYTES = 32

/**
 * A new session secret: 256 random bits in base64url. Lives in the session cookie and nowhere else. One of a family is followed by a
 * MAC, by which it can be told from a made-up one after it has been rotated out.
 *
 * @param family the key of the family, from {@link createFamily}
 */
export async function createSecret(family: string | null = null): Promise<string> {
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))
  if (family === null) return base64url.encode(random)
  const mac = await crypto.subtle.sign('HMAC', await importFamily(family), random)
  return base64url.encode(new Uint8Array([...random, ...new Uint8Array(mac)]))
}

/** The key of a family of secrets. Whoever has it can make the server end the session, and nothing else. */
export function createFamily(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))
}

/** Whether a secret was issued by us for this family, however long ago. */
export async function isOfFamily(secret: string, family: string): Promise<boolean> {
  const bytes = decode(secret)
  if (bytes === null) return false
  const [random, mac] = [bytes.slice(0, RANDOM_BYTES), bytes.slice(RANDOM_BYTES)]
  return crypto.subtle.verify('HMAC', await importFamily(family), mac, random)
}

/** What the column `token` holds for a secret: `sha256:<hex>`. The secret is random, so it needs neither salt nor stretching. */
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

function decode(secret: string): Uint8Array<ArrayBuffer> | null {
  try {
    return new Uint8Array(base64url.decode(secret))
  } catch {
    return null
  }
}
