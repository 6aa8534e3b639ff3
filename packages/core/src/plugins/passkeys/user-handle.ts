import { base64url } from 'jose'

/**
 * Returns the user handle, which authenticators store with a passkey, in base64url. A hash, because it must
 * not identify the user elsewhere, and has at most 64 bytes (WebAuthn level 3, section 14.6.1).
 */
export async function userHandleOf(userId: string): Promise<string> {
  const owner = new TextEncoder().encode(JSON.stringify(['passkeys', userId]))
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', owner)))
}
