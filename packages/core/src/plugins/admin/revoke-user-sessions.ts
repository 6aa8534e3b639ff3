import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id, revoked, revokedCount } from '../../endpoints/plain-schemas.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { ENDPOINTS } from '../../protocol.ts'

/** Ends one session of any user. That browser keeps its JWT, which no longer works (spec section 4). */
export const revokeUserSession: Endpoint<{ sessionId: string }, { revoked: boolean }, false> = defineEndpoint(
  {
    ...ENDPOINTS.revokeUserSession,
    caller: 'admin',
    input: z.strictObject({ sessionId: id }),
    output: revoked,
    async run({ sessionId }, { identity, config, change }) {
      const ending = { cause: 'revoked-by-admin', actorId: identity.userId, at: config.now() } as const
      const ended = await change((trx, record) => deleteSessions(trx, record, { sessionId, ...ending }))
      return { body: { revoked: ended > 0 } }
    },
  },
)

/** Ends all sessions of any user. */
export const revokeUserSessions: Endpoint<{ userId: string }, { revoked: number }, false> = defineEndpoint({
  ...ENDPOINTS.revokeUserSessions,
  caller: 'admin',
  input: z.strictObject({ userId: id }),
  output: revokedCount,
  async run({ userId }, { identity, config, change }) {
    const ending = { cause: 'revoked-by-admin', actorId: identity.userId, at: config.now() } as const
    const ended = await change((trx, record) => deleteSessions(trx, record, { userId, ...ending }))
    return { body: { revoked: ended } }
  },
})
