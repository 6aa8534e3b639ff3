import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id, revoked, revokedCount } from '../../endpoints/plain-schemas.ts'
import { liftBan, setBan } from '../../lifecycle/ban-user.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { type AdminOptions, adminError, type FreshAdmin } from './settings.ts'

export interface BanUserInput {
  userId: string
  /** For the records. The banned user only sees "Account banned". */
  reason?: string
  /** In seconds, at most 100 years. @default never */
  expiresIn?: number
}

const MAX_SECONDS = 100 * 365 * 24 * 60 * 60

/** Bans a user. Their sessions stay, so the next call gets 403 "Account banned". Their live streams end. */
export function banUser(fresh: FreshAdmin): Endpoint<BanUserInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.banUser,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    input: z.strictObject({
      userId: id,
      reason: z.string().trim().min(1).max(500).exactOptional(),
      expiresIn: z.number().int().positive().max(MAX_SECONDS).exactOptional(),
    }),
    output: done,
    async run({ userId, reason = null, expiresIn }, { identity: { userId: actorId }, config, change }) {
      if (userId === actorId) throw adminError('OWN_ACCOUNT')
      const at = config.now()
      const expiresAt = expiresIn === undefined ? null : new Date(at.getTime() + expiresIn * 1000)
      const ban = { userId, reason, expiresAt, actorId, at }
      if (!(await change((trx, record) => setBan(trx, record, ban)))) throw reject('USER_NOT_FOUND')
      return { body: { success: true } }
    },
  })
}

/** Lifts a ban. Does nothing if the user isn't banned. */
export function unbanUser(fresh: FreshAdmin): Endpoint<{ userId: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.unbanUser,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    input: z.strictObject({ userId: id }),
    output: done,
    async run({ userId }, { identity, config, change }) {
      const ban = { userId, actorId: identity.userId, at: config.now() }
      await change((trx, record) => liftBan(trx, record, ban))
      return { body: { success: true } }
    },
  })
}

/** Gives a user a role, effective from their next call. Admins can't change their own, so one admin remains. */
export function setRole(
  { roles = ['user', 'admin'] }: AdminOptions,
  fresh: FreshAdmin,
): Endpoint<{ userId: string; role: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setRole,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    input: z.strictObject({ userId: id, role: z.string().refine((role) => roles.includes(role)) }),
    output: done,
    async run({ userId, role }, { identity: { userId: actorId }, config, change }) {
      if (userId === actorId) throw adminError('OWN_ACCOUNT')
      const at = config.now()
      await change(async (trx, record) => {
        const users = trx.selectFrom('user').select('role').where('id', '=', userId)
        const user = await users.forNoKeyUpdate().executeTakeFirst()
        if (user === undefined) throw reject('USER_NOT_FOUND')
        await trx.updateTable('user').set({ role, updatedAt: at }).where('id', '=', userId).execute()
        record({ type: 'user.role-changed', userId, from: user.role, to: role, actorId, at })
      })
      return { body: { success: true } }
    },
  })
}

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
