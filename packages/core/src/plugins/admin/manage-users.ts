import * as z from 'zod/mini'
import {
  type AuthorizedContext,
  defineEndpoint,
  type Endpoint,
  type RemovedFactor,
} from '../../endpoints/endpoint.ts'
import { done, id, revoked, revokedCount, withoutNul } from '../../endpoints/plain-schemas.ts'
import { liftBan, setBan } from '../../lifecycle/ban-user.ts'
import { changeRole } from '../../lifecycle/change-role.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { adminError, type FreshAdmin } from './settings.ts'

export interface BanUserInput {
  userId: string
  /** For the records. The banned user only sees "Account banned". */
  reason?: string
  /** In seconds, at most 100 years. @default never */
  expiresIn?: number
}

const MAX_SECONDS = 100 * 365 * 24 * 60 * 60

/** Bans a user and ends their streams. Their sessions stay, so the next call gets 403 `ACCOUNT_BANNED`. */
export function banUser(fresh: FreshAdmin): Endpoint<BanUserInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.banUser,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    factor: fresh.factor,
    input: z.strictObject({
      userId: id,
      reason: z.exactOptional(z.string().check(z.trim(), z.minLength(1), z.maxLength(500), withoutNul)),
      expiresIn: z.exactOptional(z.number().check(z.int(), z.positive(), z.maximum(MAX_SECONDS))),
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
    factor: fresh.factor,
    input: z.strictObject({ userId: id }),
    output: done,
    async run({ userId }, { identity, config, change }) {
      const ban = { userId, actorId: identity.userId, at: config.now() }
      await change((trx, record) => liftBan(trx, record, ban))
      return { body: { success: true } }
    },
  })
}

/** Sets a user's role, from their next call on. Admins can't change their own, so one admin remains. */
export function setRole(
  roles: readonly string[],
  fresh: FreshAdmin,
): Endpoint<{ userId: string; role: string }, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.setRole,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    factor: fresh.factor,
    input: z.strictObject({ userId: id, role: z.string().check(z.refine((role) => roles.includes(role))) }),
    output: done,
    async run({ userId, role }, { identity: { userId: actorId }, config, change }) {
      if (userId === actorId) throw adminError('OWN_ACCOUNT')
      const at = config.now()
      await change((trx, record) => changeRole(trx, record, { userId, role, actorId, at }))
      return { body: { success: true } }
    },
  })
}

export interface ResetUserFactorsInput {
  userId: string
  /** For the audit trail, such as how the user proved who they are. */
  reason: string
}

/** Removes all second factors of a user who has lost them, ends the user's sessions, and sends emails. */
export function resetUserFactors(fresh: FreshAdmin): Endpoint<ResetUserFactorsInput, SuccessResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.resetUserFactors,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    factor: fresh.factor,
    input: z.strictObject({
      userId: id,
      reason: z.string().check(z.trim(), z.minLength(1), z.maxLength(500)),
    }),
    output: done,
    async run({ userId, reason }, context) {
      const { identity, config, change, secondFactors } = context
      const actorId = identity.userId
      if (userId === actorId) throw adminError('OWN_ACCOUNT')
      const at = config.now()
      const removed = await change(async (trx, record) => {
        if ((await lockUsers(trx, [userId])).length === 0) throw reject('USER_NOT_FOUND')
        // Before the factors, which would be removed from the proofs of each session.
        await deleteSessions(trx, record, { userId, cause: 'factors-reset', actorId, at })
        const removed: RemovedFactor[] = []
        for (const factor of secondFactors) removed.push(await factor.remove(userId, trx))
        record({ type: 'user.factors-reset', userId, actorId, at, reason })
        return removed
      })
      for (const factor of removed) factor.notify(context)
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
    run: async (input, context) => ({ body: { revoked: (await revoke(input, context)) > 0 } }),
  },
)

/** Ends all sessions of a user. */
export const revokeUserSessions: Endpoint<{ userId: string }, { revoked: number }, false> = defineEndpoint({
  ...ENDPOINTS.revokeUserSessions,
  caller: 'admin',
  input: z.strictObject({ userId: id }),
  output: revokedCount,
  run: async (input, context) => ({ body: { revoked: await revoke(input, context) } }),
})

function revoke(
  selector: { sessionId: string } | { userId: string },
  { identity, config, change }: AuthorizedContext,
): Promise<number> {
  const cause = { cause: 'revoked-by-admin', actorId: identity.userId, at: config.now() } as const
  return change((trx, record) => deleteSessions(trx, record, { ...selector, ...cause }))
}
