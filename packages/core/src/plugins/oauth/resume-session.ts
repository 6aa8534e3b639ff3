import { authorizedContext } from '../../endpoints/create-context.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { validateSession } from '../../session/validate-session.ts'
import { oauthError } from './errors.ts'
import type { Flow } from './flow.ts'

/**
 * Returns the context of the session that began a visit to a provider. The JWT may have expired since, so
 * `renewSession` checks the session cookie instead.
 * @throws AuthError if the session has ended, the user was banned, or its credentials were replaced
 */
export async function resumeSession(flow: Flow, context: EndpointContext): Promise<AuthorizedContext> {
  const { userId, sessionId, version } = flow
  if (userId === null || sessionId === null) throw oauthError('SIGN_IN_EXPIRED')
  const { config, signingKeys } = context
  const keyId = signingKeys.active.kid
  const expiresAt = new Date(flow.expiresAt)
  const identity = { userId, sessionId, version, issuer: config.issuer, keyId, expiresAt }
  const session = await validateSession(identity, context.database.sessions, config)
  return authorizedContext(context, { identity, session })
}
