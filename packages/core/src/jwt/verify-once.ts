import type { AuthConfig } from '../config.ts'
import { withDeadline } from '../protocol/deadline.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import type { Identity } from './identity.ts'
import type { Proof } from './proof.ts'
import { keysVersion } from './trusted-issuer.ts'

/**
 * Verifies a token (Step 1). For a token that was verified before, it skips `verify`, but always checks the
 * expiry.
 * @throws AuthError `TOKEN_EXPIRED`, or the error of `verify`
 */
export async function verifyOnce(
  token: string,
  { config, now }: { config: AuthConfig; now: Date },
  verify: (token: string, config: AuthConfig, now: Date) => Promise<Identity>,
): Promise<Identity> {
  const version = keysVersion(config)
  const known = config.identityCache.get(token, version)
  if (known !== undefined) {
    if (known.expiresAt.getTime() <= now.getTime()) throw new AuthError('TOKEN_EXPIRED')
    return known
  }
  const identity = await verify(token, config, now)
  config.identityCache.set(token, version, identity)
  return identity
}

/**
 * Verifies a token with the {@link Proof} of the configuration (Step 1).
 * @throws AuthError like {@link Proof.verify}, or `SESSIONS_UNAVAILABLE` if it fails or times out
 */
export function verifyProof(token: string, proof: Proof, config: AuthConfig): Promise<Identity> {
  return verifyOnce(token, { config, now: config.now() }, async () => {
    const {
      userId,
      sessionId,
      keyId,
      version = null,
    } = await withLookupTimeout(() => proof.verify(token), config)
    // Drivers read integers as numbers. Step 2 and revocations have them as text.
    return {
      userId: `${userId}`,
      sessionId: `${sessionId}`,
      keyId,
      version,
      issuer: config.issuer,
      expiresAt: NEVER,
    }
  })
}

/** Runs a proof or a lookup. Throws `SESSIONS_UNAVAILABLE` if it throws, rejects, or times out. */
export async function withLookupTimeout<Value>(
  work: () => Promise<Value>,
  config: AuthConfig,
): Promise<Value> {
  try {
    return await withDeadline(work(), config.lookupTimeoutMs)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

/** The last valid date. */
const NEVER = new Date(8.64e15)
