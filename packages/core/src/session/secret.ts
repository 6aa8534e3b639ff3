import { base64url } from 'jose'

/** A new session secret: 256 random bits in base64url. Lives in the session cookie and nowhere else. */
export function createSecret(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(32)))
}

/** What the column `token` holds for a secret: `sha256:<hex>`. The secret is random, so it needs neither salt nor stretching. */
export async function hashSecret(secret: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret)))
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
