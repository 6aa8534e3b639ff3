import * as z from 'zod'
import { deleteSessions } from '../lifecycle/end-session.ts'
import { ENDPOINTS, type SessionResponse, type TokenResponse } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import { anyQuery, id, noFields, revoked, revokedCount, session, tokens } from './plain-schemas.ts'
import { renewSession } from './renew-session.ts'
import { listSessionsOf } from './session-list.ts'

/** The caller's sessions. */
export const listSessions: Endpoint<object, { sessions: SessionResponse[] }, false> = defineEndpoint({
  ...ENDPOINTS.listSessions,
  caller: 'user',
  input: anyQuery,
  output: z.object({ sessions: z.array(session) }),
  run: async (_input, { identity, config, database: { db } }) => ({
    body: {
      sessions: await listSessionsOf(identity.userId, {
        db,
        now: config.now(),
        currentId: identity.sessionId,
      }),
    },
  }),
})

/** Ends one of the caller's sessions. One that is not theirs is none. */
export const revokeOwnSession: Endpoint<{ sessionId: string }, { revoked: boolean }, false> = defineEndpoint({
  ...ENDPOINTS.revokeSession,
  caller: 'user',
  input: z.strictObject({ sessionId: id }),
  output: revoked,
  async run({ sessionId }, { identity: { userId }, config, change }) {
    const ending = { cause: 'revoked', actorId: null, at: config.now() } as const
    const ended = await change((trx, record) => deleteSessions(trx, record, { sessionId, userId, ...ending }))
    return { body: { revoked: ended > 0 } }
  },
})

/** Ends all sessions of the caller but the one that asks. */
export const revokeOtherSessions: Endpoint<object, { revoked: number }, false> = defineEndpoint({
  ...ENDPOINTS.revokeOtherSessions,
  caller: 'user',
  input: noFields,
  output: revokedCount,
  async run(_input, { identity: { userId, sessionId: exceptId }, config, change }) {
    const ending = { cause: 'revoked', actorId: null, at: config.now() } as const
    const ended = await change((trx, record) => deleteSessions(trx, record, { userId, exceptId, ...ending }))
    return { body: { revoked: ended } }
  },
})

/** Ends all sessions of the caller: signs out everywhere. */
export const revokeOwnSessions: Endpoint<object, { revoked: number }, true> = defineEndpoint({
  ...ENDPOINTS.revokeSessions,
  caller: 'user',
  setsCookies: true,
  input: noFields,
  output: revokedCount,
  async run(_input, { identity: { userId }, config, change }) {
    const ending = { cause: 'revoked', actorId: null, at: config.now() } as const
    const ended = await change((trx, record) => deleteSessions(trx, record, { userId, ...ending }))
    return { body: { revoked: ended }, cookies: clearCookies(config.cookies, config) }
  },
})

/**
 * Ends every copy of the caller's session: its older JWTs, cookies, sockets, and streams stop working, and
 * the caller gets new credentials.
 */
export const revokeCopies: Endpoint<object, TokenResponse, true> = defineEndpoint({
  ...ENDPOINTS.revokeCopies,
  caller: 'fresh-user',
  setsCookies: true,
  input: noFields,
  output: tokens,
  run: (_input, context) => renewSession(context, { cause: 'copies-revoked' }),
})
