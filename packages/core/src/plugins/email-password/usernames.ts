import * as z from 'zod/mini'
import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { anyQuery } from '../../endpoints/plain-schemas.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { ENDPOINTS } from '../../protocol.ts'
import { isDuplicate } from '../../session/conflict.ts'
import { countAddress } from './attempts.ts'
import { isReservedUsername } from './reserved-usernames.ts'
import { emailPasswordError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

const CHANGES = { points: 5, duration: 24 * 60 * 60 }

/**
 * A username as it is stored and looked up: trimmed, in lower case, 3 to 30 of `a-z 0-9 _ - .`, with a letter
 * or digit at both ends.
 */
export const username: z.ZodMiniType<string> = z
  .string()
  .check(z.trim(), z.toLowerCase(), z.regex(/^[a-z0-9][a-z0-9._-]{1,28}[a-z0-9]$/))

export interface UsernameResponse {
  /** Null if the user has chosen none. */
  username: string | null
}

/** Returns the caller's username. */
export const getUsername: Endpoint<object, UsernameResponse, false> = defineEndpoint({
  ...ENDPOINTS.getUsername,
  caller: 'user',
  input: anyQuery,
  output: z.object({ username: z.nullable(z.string()) }),
  async run(_input, { identity: { userId }, database: { db } }) {
    const query = withOwnTables(db).selectFrom('username').select('username').where('userId', '=', userId)
    return { body: { username: (await query.executeTakeFirst())?.username ?? null } }
  },
})

/** Changes the caller's username, or sets the first one, and sends an email. The former is free at once. */
export function changeUsername({
  limits,
  sendEmail,
}: Pick<Settings, 'limits' | 'sendEmail'>): Endpoint<{ username: string }, UsernameResponse, false> {
  return defineEndpoint({
    ...ENDPOINTS.changeUsername,
    caller: 'fresh-user',
    input: z.strictObject({ username }),
    output: z.object({ username: z.nullable(z.string()) }),
    async run({ username }, context) {
      const { session, config, change, limit, giveBack, later } = context
      const { id: userId, name, email } = session.user
      await countAddress(context, limits)
      await limit(`username:${userId}`, CHANGES)
      const changing = change(async (trx, record) => {
        await lockUsers(trx, [userId])
        const former = await withOwnTables(trx)
          .deleteFrom('username')
          .where('userId', '=', userId)
          .returning('username')
          .executeTakeFirst()
        await insertUsername(trx, userId, username)
        const detail = { from: former?.username ?? null, to: username }
        record({ type: 'email-password:username-changed', userId, actorId: null, at: config.now(), detail })
      })
      await changing.catch(async (error: unknown) => {
        // Otherwise, a user who tries taken names couldn't choose any for a day.
        await giveBack(`username:${userId}`, CHANGES)
        throw error
      })
      if (sendEmail !== undefined)
        later(() => sendEmail({ kind: 'username-changed', to: email, user: { id: userId, name, email } }))
      return { body: { username } }
    },
  })
}

/** @throws EndpointError `USERNAME_TAKEN`, also for a reserved name */
export async function insertUsername(trx: AuthTransaction, userId: string, username: string): Promise<void> {
  if (isReservedUsername(username)) throw emailPasswordError('USERNAME_TAKEN')
  await withOwnTables(trx)
    .insertInto('username')
    .values({ userId, username })
    .execute()
    .catch((error: unknown) => {
      throw isDuplicate(error) ? emailPasswordError('USERNAME_TAKEN') : error
    })
}

/**
 * Returns the email of the account with a username. An unknown username stays as it is: no account has it as
 * its email, so the sign-in does the same work and fails.
 */
export async function emailOf(emailOrUsername: string, db: AuthKysely): Promise<string> {
  if (emailOrUsername.includes('@')) return emailOrUsername
  const found = await withOwnTables(db)
    .selectFrom('username')
    .innerJoin('user', 'user.id', 'username.userId')
    .select('user.email')
    .where('username.username', '=', emailOrUsername)
    .executeTakeFirst()
  return found?.email ?? emailOrUsername
}
