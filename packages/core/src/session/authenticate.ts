import type { AuthConfig } from '../config.ts'
import type { Identity } from '../jwt/identity.ts'
import { verifyJwt } from '../jwt/verify-jwt.ts'
import { verifyProof, withLookupTimeout } from '../jwt/verify-once.ts'
import { AuthError } from '../protocol/errors.ts'
import { readCredentials } from '../request/credentials.ts'
import { checkOrigin, type OriginRequest, type RequestKind } from '../request/origin.ts'
import { matchSessionCookie } from './match-session-cookie.ts'
import { reportRejection, withReport } from './report-denial.ts'
import type { Session, SessionReader, StoredSession } from './session.ts'
import { checkSession, validateSession } from './validate-session.ts'

/** The caller, after both steps. */
export interface Authenticated {
  readonly identity: Identity
  readonly session: Session
}

/**
 * Authenticates a request. Step 1 verifies its JWT, without a database. Step 2 reads the session row and
 * decides whether the session is still valid. A step that can't decide throws with 503, never 401.
 * @throws AuthError like {@link identify} and {@link validateSession}
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
 * Step 1: checks that the credentials are unambiguous, the origin may use them, and the JWT is valid, or the
 * proof that the configuration has instead.
 * @throws AuthError `COOKIE_CONFLICT`, `TOKEN_MISSING`, `ORIGIN_REJECTED`, `TOKEN_INVALID`, `TOKEN_EXPIRED`,
 * or `KEYS_UNAVAILABLE`
 */
export function identify(request: OriginRequest, kind: RequestKind, config: AuthConfig): Promise<Identity> {
  const { telemetry } = config
  const verify = () => verifyCredentials(request, kind, config)
  const decide = telemetry === undefined ? verify : () => telemetry.trace({ name: 'step1' }, verify)
  return withReport(decide, { step: 1, sessionId: null, config })
}

async function verifyCredentials(
  request: OriginRequest,
  kind: RequestKind,
  config: AuthConfig,
): Promise<Identity> {
  const { proof } = config
  const loading = proof?.ready?.()
  if (loading !== undefined) await withLookupTimeout(() => loading, config)
  const credentials = readCredentials(request.header, config)
  const { transport, token, sessionCookie } = credentials
  if (transport === 'cookie' && (token !== null || sessionCookie !== null)) checkOrigin(request, kind, config)
  if (token === null) throw new AuthError('TOKEN_MISSING')
  const identity = await (proof === undefined ? verifyJwt(token, config) : verifyProof(token, proof, config))
  // Another tab has signed in since. After a refresh, the two cookies agree again.
  if (!(await matchSessionCookie(identity, credentials, config))) throw new AuthError('TOKEN_INVALID')
  return identity
}

/**
 * Step 2: checks that the key behind an identity has not leaked and that its session is still valid. The
 * identity may be from an earlier request, such as the handshake of a WebSocket.
 * @throws AuthError `TOKEN_INVALID` if the key has leaked, or like {@link validateSession}
 */
export function validateIdentity(
  identity: Identity,
  { config, sessions }: { config: AuthConfig; sessions: SessionReader },
): Promise<Session> {
  const { telemetry } = config
  const validate = () =>
    isKeyTrusted(identity, config)
      ? validateSession(identity, sessions, config)
      : Promise.reject(new AuthError('TOKEN_INVALID'))
  const decide =
    telemetry === undefined
      ? validate
      : () => telemetry.trace({ name: 'step2', system: sessions.meter?.system }, validate)
  return withReport(decide, { step: 2, sessionId: identity.sessionId, config })
}

/** The decision of {@link validateIdentity} about a session that was just read. */
export function checkIdentity(identity: Identity, found: StoredSession | null, config: AuthConfig): Session {
  return reportRejection(
    () => {
      if (!isKeyTrusted(identity, config)) throw new AuthError('TOKEN_INVALID')
      if (found === null) throw new AuthError('SESSION_NOT_FOUND')
      return checkSession(found, identity, config.now())
    },
    { step: 2, sessionId: identity.sessionId, config },
  )
}

/** Keys leave the set when the last JWT they signed has expired. A key that leaves earlier has leaked. */
export function isKeyTrusted({ issuer, keyId, expiresAt }: Identity, config: AuthConfig): boolean {
  const status = config.issuers.find((trusted) => trusted.issuer === issuer)?.jwks.status(keyId)
  return status === 'known' || (status === 'gone' && expiresAt <= config.now())
}
