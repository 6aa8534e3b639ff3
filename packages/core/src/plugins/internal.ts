import * as z from 'zod/mini'
import { type Attempts, consume, type GiveBack } from '../endpoints/attempts.ts'
import type { EndpointContext } from '../endpoints/endpoint.ts'
import { isAuthError } from '../protocol/errors.ts'
import { checkRateLimit, type RateLimit } from '../rate-limit/rate-limit.ts'
import { clientNetwork } from '../request/address.ts'
import { hashSecret } from '../session/secret.ts'

/** An email address as it is stored and looked up: trimmed and in lower case, and only then validated. */
export const emailAddress: z.ZodMiniType<string> = z.pipe(
  // In lower case, the Kelvin sign becomes a `k`, so the result may be the address of another mailbox.
  z.string().check(z.maxLength(320), z.trim(), z.regex(/^\p{ASCII}*$/u), z.toLowerCase()),
  z.email(),
)

/** A code as the user types it: in upper case, without spaces and dashes, and only then validated. */
export function typedCode(pattern: RegExp): z.ZodMiniType<string> {
  const normalize = z.transform((text: string) => text.replace(/[\s-]/g, '').toUpperCase())
  const normalized = z.pipe(z.string().check(z.maxLength(64)), normalize)
  return z.pipe(normalized, z.string().check(z.regex(pattern)))
}

/** Fills in the defaults. @throws ConfigurationError naming the limit that can't work */
export function rateLimits<Name extends string>(
  defaults: Readonly<Record<Name, RateLimit>>,
  given?: Readonly<Partial<Record<Name, RateLimit>>>,
): Record<Name, RateLimit> {
  const limits: Record<Name, RateLimit> = { ...defaults }
  for (const name in defaults)
    limits[name] = checkRateLimit(`limits.${name}`, given?.[name] ?? defaults[name])
  return limits
}

export function isRateLimited(error: unknown): boolean {
  return isAuthError(error) && error.reason === 'RATE_LIMITED'
}

/**
 * Returns a handler of errors that gives attempts back if the database is unavailable, or too many passwords
 * wait.
 * @param giveBack null for none, such as after a wrong proof: an outage must not allow more guesses
 */
export function giveBackInOutage(giveBack: GiveBack | null): (error: unknown) => Promise<never> {
  return async (error) => {
    if (isAuthError(error) && error.reason === 'SESSIONS_UNAVAILABLE') await giveBack?.()
    throw error
  }
}

/** Like {@link consume}, but returns null over a limit, for responses that must not reveal it. */
export function tryConsume(context: EndpointContext, attempts: Attempts): Promise<GiveBack | null> {
  return consume(context, attempts).catch((error: unknown) => {
    if (isRateLimited(error)) return null
    throw error
  })
}

/** Returns the attempts of an email: by mailbox and the client's network, then by mailbox alone. */
export async function emailAttempts(
  { address }: EndpointContext,
  email: string,
  { purpose, limits }: { purpose: string; limits: Record<'email' | 'mailbox', RateLimit> },
): Promise<Attempts> {
  const mailbox = await hashSecret(email)
  return [
    [`${purpose}:${clientNetwork(address)}:${mailbox}`, limits.email],
    [`${purpose}:${mailbox}`, limits.mailbox],
  ]
}
