import * as z from 'zod'

/** An email address as it is stored and looked up: trimmed and in lower case, and only then checked. */
export const emailAddress: z.ZodType<string> = z.string().max(320).trim().toLowerCase().pipe(z.email())

/** What stands for an email address where the address itself need not be known: in the keys of rate limits. */
export async function hashEmail(address: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(address))
  return Buffer.from(digest).toString('base64url')
}
