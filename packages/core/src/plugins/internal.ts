import * as z from 'zod'
import { checkRateLimit, type RateLimit } from '../rate-limit/rate-limit.ts'

/** An email address as it is stored and looked up: trimmed and in lower case, and only then validated. */
export const emailAddress: z.ZodType<string> = z.string().max(320).trim().toLowerCase().pipe(z.email())

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
