import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { done, id } from '../../endpoints/plain-schemas.ts'
import { liftBan, setBan } from '../../lifecycle/ban-user.ts'
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

/** Bans a user. Their sessions stay, so the next call gets 403 "Account banned". Their live streams end. */
export function banUserEndpoint(fresh: FreshAdmin): Endpoint<BanUserInput, SuccessResponse, false> {
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
    async run({ userId, reason = null, expiresIn }, { identity, config, change }) {
      if (userId === identity.userId) throw adminError('OWN_ACCOUNT')
      const at = config.now()
      const expiresAt = expiresIn === undefined ? null : new Date(at.getTime() + expiresIn * 1000)
      await change(async (trx, record) => {
        const ban = { userId, reason, expiresAt, actorId: identity.userId, at }
        if (!(await setBan(trx, record, ban))) throw reject('USER_NOT_FOUND')
      })
      return { body: { success: true } }
    },
  })
}

/** Lifts a ban. Does nothing if the user isn't banned. */
export function unbanUserEndpoint(fresh: FreshAdmin): Endpoint<{ userId: string }, SuccessResponse, false> {
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
