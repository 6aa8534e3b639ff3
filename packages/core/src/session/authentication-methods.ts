import { ConfigurationError } from '../protocol/errors.ts'
import type { Factor, Reason } from '../protocol.ts'
import { isFresh, isImpersonated, type Session } from './session.ts'

/** When the user last proved who they are by each method, in seconds since 1970. */
type MethodTimes = Readonly<Record<string, number>>

/** The methods that prove a second factor, after a password. A passkey with user verification is one. */
export const SECOND_FACTORS: readonly string[] = ['otp', 'passkey', 'recovery']

const METHODS_OF: Readonly<Record<Factor, readonly string[]>> = {
  totp: ['otp'],
  passkey: ['passkey'],
  'any-second': SECOND_FACTORS,
}

/** @throws ConfigurationError if the factor of a setting is unknown, so a typo doesn't open a procedure */
export function requireKnownFactor(setting: string, factor: Factor | null): void {
  if (factor !== null && !Object.hasOwn(METHODS_OF, factor))
    throw new ConfigurationError(`${setting}: ${factor} is unknown. Use passkey, totp, or any-second.`)
}

/** Adds methods that the user has just proved to the `amr` of a session. */
export function addMethods(amr: string | null, methods: readonly string[], now: Date): string | null {
  if (methods.length === 0) return amr
  const at = toSeconds(now)
  return JSON.stringify({ ...readMethods(amr), ...Object.fromEntries(methods.map((name) => [name, at])) })
}

/** Removes methods whose factor the account no longer has. */
export function removeMethods(amr: string | null, methods: readonly string[]): string | null {
  const kept = Object.entries(readMethods(amr)).filter(([name]) => !methods.includes(name))
  return amr === null ? null : JSON.stringify(Object.fromEntries(kept))
}

/** Unreadable text means that no method was proved. */
export function readMethods(amr: string | null): MethodTimes {
  try {
    const times: object = Object(JSON.parse(String(amr)))
    return Object.fromEntries(Object.entries(times).filter(([, at]) => Number.isSafeInteger(at)))
  } catch {
    return {}
  }
}

export interface ProofRule {
  /** Null if any proof of the user's identity is enough. */
  readonly factor: Factor | null
  /** In seconds; `Infinity` accepts a proof of any age. */
  readonly maxAgeSeconds: number
}

/**
 * Returns why a session doesn't satisfy a rule: `FACTOR_REQUIRED` if the user never proved the factor in this
 * session, `SESSION_NOT_FRESH` if the proof is too old; null if it does. An impersonated session never does.
 */
export function missingProof(
  session: Session,
  { factor, maxAgeSeconds }: ProofRule,
  now: Date,
): Extract<Reason, 'FACTOR_REQUIRED' | 'SESSION_NOT_FRESH'> | null {
  if (factor === null) return isFresh(session, { maxAgeSeconds, now }) ? null : 'SESSION_NOT_FRESH'
  if (isImpersonated(session)) return 'SESSION_NOT_FRESH'
  const times = readMethods(session.amr)
  const provedAt = Math.max(...METHODS_OF[factor].map((name) => times[name] ?? Number.NEGATIVE_INFINITY))
  if (provedAt === Number.NEGATIVE_INFINITY) return 'FACTOR_REQUIRED'
  return toSeconds(now) - provedAt <= maxAgeSeconds ? null : 'SESSION_NOT_FRESH'
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
