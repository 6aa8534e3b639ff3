import * as z from 'zod/mini'
import { deleteSessions } from '../lifecycle/end-session.ts'
import { ENDPOINTS, type SessionResponse, type TokenResponse } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { type AuthorizedContext, defineEndpoint, type Endpoint } from './endpoint.ts'
import { anyQuery, id, noFields, revoked, revokedCount, session, tokens } from './plain-schemas.ts'
import { renewSession } from './renew-session.ts'
import { listSessionsOf } from './session-list.ts'

/** Lists the caller's unexpired sessions, the newest first, and at most 1,000. */
export const listSessions: Endpoint<object, { sessions: SessionResponse[] }, false> = defineEndpoint({
  ...ENDPOINTS.listSessions,
  caller: 'user',
  input: anyQuery,
  output: z.object({ sessions: z.array(session) }),
  async run(_input, { identity, config, database: { db } }) {
    const options = { db, now: config.now(), currentId: identity.sessionId }
    return { body: { sessions: await listSessionsOf(identity.userId, options) } }
  },
})

/** Ends one of the caller's sessions. Returns false for anyone else's. */
export const revokeSession: Endpoint<{ sessionId: string }, { revoked: boolean }, false> = defineEndpoint({
  ...ENDPOINTS.revokeSession,
  caller: 'user',
  input: z.strictObject({ sessionId: id }),
  output: revoked,
  async run({ sessionId }, context) {
    return { body: { revoked: (await revokeOwn(context, { sessionId })) > 0 } }
  },
})

/** Ends all sessions of the caller except the current one. */
export const revokeOtherSessions: Endpoint<object, { revoked: number }, false> = defineEndpoint({
  ...ENDPOINTS.revokeOtherSessions,
  caller: 'user',
  input: noFields,
  output: revokedCount,
  async run(_input, context) {
    return { body: { revoked: await revokeOwn(context, { exceptId: context.identity.sessionId }) } }
  },
})

/** Ends all sessions of the caller: signs out everywhere. */
export const revokeSessions: Endpoint<object, { revoked: number }, true> = defineEndpoint({
  ...ENDPOINTS.revokeSessions,
  caller: 'user',
  setsCookies: true,
  input: noFields,
  output: revokedCount,
  async run(_input, context) {
    const { config } = context
    return { body: { revoked: await revokeOwn(context) }, cookies: clearCookies(config.cookies) }
  },
})

/** Ends every copy of the caller's session, and gives the caller new credentials. */
export const revokeCopies: Endpoint<object, TokenResponse, true> = defineEndpoint({
  ...ENDPOINTS.revokeCopies,
  caller: 'fresh-user',
  setsCookies: true,
  input: noFields,
  output: tokens,
  run: (_input, context) => renewSession(context, { cause: 'copies-revoked' }),
})

function revokeOwn(
  { identity: { userId }, config, change }: AuthorizedContext,
  selector: { sessionId?: string; exceptId?: string } = {},
): Promise<number> {
  const ending = { ...selector, userId, cause: 'revoked', at: config.now() } as const
  return change((trx, record) => deleteSessions(trx, record, ending))
}
