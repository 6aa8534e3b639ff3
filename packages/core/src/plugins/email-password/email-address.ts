import * as z from 'zod'

/** An email address as it is stored and looked up: trimmed and in lower case, and only then validated. */
export const emailAddress: z.ZodType<string> = z.string().max(320).trim().toLowerCase().pipe(z.email())

/** Hashes an email address for the keys of rate limits. */
export async function hashEmail(address: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(address))
  return Buffer.from(digest).toString('base64url')
}
