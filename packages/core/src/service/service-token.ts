import type { Identity } from '../jwt/identity.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/** The `typ` of a service JWT, so that no JWT of a user passes for one, nor one of these for a user's (RFC 8725 section 3.11). */
export const SERVICE_JWT_TYPE = 'svc+jwt'

/** How long a service JWT counts, in seconds; and how far the clocks of two processes may be apart. */
export const SERVICE_TOKEN_SECONDS = 30

/** What a service JWT is bound to: one call of one internal function. */
export interface ServiceCall {
  /** The path of the function, such as `report.save`. */
  readonly path: string
  readonly type: 'query' | 'mutation'
  /** The acting user; null where nobody acts. */
  readonly actor: Identity | null
  /** Of a mutation that may be sent again; null where it may not. */
  readonly idempotencyKey: string | null
}

/** What a service JWT says whose signature is right and which counts now. */
export interface ServiceClaims extends ServiceCall {
  /** The claim `jti`. */
  readonly id: string
  /** The name of the service that calls. */
  readonly service: string
  /** At most 30 seconds after it was issued. */
  readonly expiresAt: Date
  /** See `digestBody`. */
  readonly bodyDigest: string
}

/** Whom the service JWTs of an app are for, so that those for one app count for no other. */
export function serviceAudience({ audience }: { readonly audience: string }): string {
  return `${audience}/internal`
}

/**
 * Asserts that a path, the name of a service or a key can stand in a service JWT, and in a database.
 *
 * @throws ConfigurationError where it is not 1 to 200 printable characters
 */
export function requireClaimText(name: string, value: unknown): asserts value is string {
  if (!isClaimText(value))
    throw new ConfigurationError(`${name} must be 1 to 200 characters, none of them a control character`)
}

/** Whether a path, the name of a service or a key can stand in a service JWT, and in a database: 1 to 200 printable characters. */
export function isClaimText(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{C}]{1,200}$/u.test(value)
}
