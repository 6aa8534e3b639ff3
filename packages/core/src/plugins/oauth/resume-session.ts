import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { commit } from '../../lifecycle/commit.ts'
import { validateLocked } from '../../lifecycle/locked-sessions.ts'
import { forRequest } from '../../lifecycle/observed-database.ts'
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
  const database = forRequest(context.database, { ...context.database.request, actingSessionId: sessionId })
  return {
    ...{ ...context, identity, session, database },
    change: (work) =>
      commit(database, async (trx, record) => {
        await validateLocked(identity, { trx, locks: database.locks, now: config.now })
        return work(trx, record)
      }),
  }
}
