import { authorizedContext } from '../../endpoints/create-context.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { findToken } from '../../lifecycle/refresh-session.ts'
import { validateSession } from '../../session/validate-session.ts'
import { oauthError } from './errors.ts'
import type { Flow } from './flow.ts'

/**
 * Returns the context of the session that began a visit to a provider. The JWT may have expired since, so
 * `renewSession` checks the session cookie instead.
 * @throws AuthError if the session has ended, the user was banned, or its credentials were replaced
 */
export async function resumeSession(flow: Flow, context: EndpointContext): Promise<AuthorizedContext> {
  const { userId, sessionId } = flow
  if (userId === null || sessionId === null) throw oauthError('SIGN_IN_EXPIRED')
  const { config, database, signingKeys } = context
  const found = await findToken(sessionId, database, config)
  // Another tab may have rotated the secret since.
  const isRotated = found !== null && flow.version !== null && flow.version >= found.provedVersion
  const version = isRotated ? found.version : flow.version
  const keyId = signingKeys.active.kid
  const expiresAt = new Date(flow.expiresAt)
  const identity = { userId, sessionId, version, issuer: config.issuer, keyId, expiresAt }
  const session = await validateSession(identity, database.sessions, config)
  return authorizedContext(context, { identity, session })
}
