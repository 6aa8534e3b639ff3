/** A new token: 256 random bits in base64url. It is in what the app delivers and nowhere else. */
export function createToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
}

/** What stands for a token where it is stored, and for an email address in the key of a limit. */
export async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return `sha256:${Buffer.from(digest).toString('hex')}`
}
