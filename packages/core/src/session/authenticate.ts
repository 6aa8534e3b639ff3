import type { AuthConfig } from '../config.ts'
import type { Identity } from '../jwt/identity.ts'
import { verifyJwt } from '../jwt/verify-jwt.ts'
import { AuthError } from '../protocol/errors.ts'
import { readCredentials } from '../request/credentials.ts'
import { checkOrigin, type OriginRequest, type RequestKind } from '../request/origin.ts'
import { withReport } from './report-denial.ts'
import type { Session } from './session.ts'
import type { SessionReader } from './session-store.ts'
import { validateSession } from './validate-session.ts'

/** What both doors let through. */
export interface Authenticated {
  readonly identity: Identity
  readonly session: Session
}

/**
 * The way of every request: two doors, in this order. Step 1 proves who asks; Step 2 asks the database whether that session
 * still counts. Whatever cannot be decided is refused with 503: nothing here turns an error into "nobody".
 *
 * @throws AuthError with the reason
 */
export async function authenticate(
  request: OriginRequest,
  kind: RequestKind,
  { config, sessions }: { config: AuthConfig; sessions: SessionReader },
): Promise<Authenticated> {
  const identity = await identify(request, kind, config)
  const session = await validateIdentity(identity, { config, sessions })
  return { identity, session }
}

/**
 * Step 1 for a request: its credentials are unambiguous, its origin may use them, and its JWT is one of ours.
 *
 * @throws AuthError `COOKIE_CONFLICT`, `TOKEN_MISSING`, `ORIGIN_REJECTED`, `TOKEN_INVALID`, `TOKEN_EXPIRED` or
 * `KEYS_UNAVAILABLE`
 */
export function identify(request: OriginRequest, kind: RequestKind, config: AuthConfig): Promise<Identity> {
  if (config.onEvent === undefined) return prove(request, kind, config)
  return withReport(() => prove(request, kind, config), { step: 1, sessionId: null, config })
}

async function prove(request: OriginRequest, kind: RequestKind, config: AuthConfig): Promise<Identity> {
  const { transport, token, sessionCookie } = readCredentials(request.header, config)
  if (transport === 'cookie' && (token !== null || sessionCookie !== null)) checkOrigin(request, kind, config)
  if (token === null) throw new AuthError('TOKEN_MISSING')
  const identity = await verifyJwt(token, config)
  // Another tab signed in meanwhile: a refresh makes the two cookies agree again.
  if (sessionCookie !== null && sessionCookie.sessionId !== identity.sessionId)
    throw new AuthError('TOKEN_INVALID')
  return identity
}

/**
 * Step 2 for an identity, however long ago it was proved: the key that proved it has not leaked since, and its session still counts.
 *
 * @throws AuthError `TOKEN_INVALID`, or like `validateSession`
 */
export function validateIdentity(
  identity: Identity,
  { config, sessions }: { config: AuthConfig; sessions: SessionReader },
): Promise<Session> {
  if (config.onEvent === undefined) return validateTrusted(identity, config, sessions)
  const { sessionId } = identity
  return withReport(() => validateTrusted(identity, config, sessions), { step: 2, sessionId, config })
}

function validateTrusted(identity: Identity, config: AuthConfig, sessions: SessionReader): Promise<Session> {
  if (!isKeyTrusted(identity, config)) return Promise.reject(new AuthError('TOKEN_INVALID'))
  return validateSession(identity, sessions, config)
}

/**
 * A key is taken out of the set when the last JWT that it signed has expired, and nothing is wrong with what rests on it. One that
 * is gone before that has leaked.
 */
function isKeyTrusted({ issuer, keyId, expiresAt }: Identity, config: AuthConfig): boolean {
  const status = config.issuers.find((trusted) => trusted.issuer === issuer)?.jwks.status(keyId)
  return status === 'known' || (status === 'gone' && expiresAt <= config.now())
}
