import type { Updateable } from 'kysely'
import * as z from 'zod/mini'
import type { UserTable } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../database/session-database.ts'
import type { EventDetail } from '../events/event.ts'
import { deleteSessions } from '../lifecycle/end-session.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError } from '../protocol/errors.ts'
import { ENDPOINTS, type SessionResponse, type SuccessResponse, type UserResponse } from '../protocol.ts'
import { clearCookies } from '../request/cookie.ts'
import { encodeColumns, type SessionColumns, type UserColumns } from './declared-columns.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import { anyQuery, done, noFields, sessionFields } from './plain-schemas.ts'
import { listSessionsOf } from './session-list.ts'
import { readUser, userFields, userImage, userName } from './user-record.ts'

const MAX_RECORDED_LENGTH = 512
const UPDATES = { points: 60, duration: 60 * 60 }

type UpdateUserInput = { name?: string; image?: string | null }

export interface OwnUserEndpoints<OfUser = unknown, OfSession = unknown, OfInput = unknown> {
  readonly getSession: Endpoint<
    object,
    { user: UserResponse & OfUser; session: SessionResponse & OfSession },
    false
  >
  readonly updateUser: Endpoint<UpdateUserInput & OfInput, { user: UserResponse & OfUser }, false>
  readonly deleteUser: Endpoint<object, SuccessResponse, true>
}

export function ownUserEndpoints(columns: UserColumns, sessionColumns: SessionColumns): OwnUserEndpoints {
  const user = z.object({ ...userFields, ...schemasOf(columns) })
  const session = z.object({ ...sessionFields, ...schemasOf(sessionColumns) })
  const settable = Object.entries(columns).filter(([, { input }]) => input === true)
  const updateInput: z.ZodMiniType<UpdateUserInput> = z.strictObject({
    // Without the default of a schema, which would replace the value of a member that isn't sent.
    ...Object.fromEntries(settable.map(([name, { schema }]) => [name, z.optional(z.nonoptional(schema))])),
    name: z.exactOptional(userName),
    image: z.exactOptional(z.nullable(userImage)),
  })

  return {
    getSession: defineEndpoint({
      ...ENDPOINTS.getSession,
      caller: 'user',
      input: anyQuery,
      output: z.object({ session, user }),
      async run(_input, { identity, session: own, config, database: { db } }) {
        const { userId, sessionId } = identity
        const only = { currentId: sessionId, onlyId: sessionId }
        const [current] = await listSessionsOf(userId, { db, now: config.now(), ...only })
        if (current === undefined) throw new AuthError('SESSION_NOT_FOUND')
        // The output has the added columns of the session, and no other members.
        return { body: { session: { ...own, ...current }, user: await readUser(userId, { db, columns }) } }
      },
    }),

    updateUser: defineEndpoint({
      ...ENDPOINTS.updateUser,
      caller: 'user',
      input: updateInput,
      output: z.object({ user }),
      async run({ name, image, ...added }, { identity: { userId }, config, change, limit }) {
        // Each change adds rows to `sallyport.audit`.
        await limit(`update-user:${userId}`, UPDATES)
        return change(async (trx, record) => {
          const at = config.now()
          const own = encodeColumns(added, columns)
          const changes: Updateable<UserTable> = Object.assign({ updatedAt: at }, own)
          if (name !== undefined) changes.name = name
          if (image !== undefined) changes.image = image
          const before = await readUser(userId, { db: trx, columns })
          await trx.updateTable('user').set(changes).where('id', '=', userId).execute()
          const user = await readUser(userId, { db: trx, columns })
          const changed = changedMembers(before, user)
          if (changed !== null) record({ type: 'user.updated', userId, actorId: null, at, ...changed })
          return { body: { user } }
        })
      },
    }),

    deleteUser: defineEndpoint({
      ...ENDPOINTS.deleteUser,
      caller: 'fresh-user',
      setsCookies: true,
      input: noFields,
      output: done,
      async run(_input, { identity: { userId }, config, change }) {
        const at = config.now()
        await change(async (trx, record) => {
          await rejectLastAdmin(trx, userId, at)
          await deleteSessions(trx, record, { userId, cause: 'user-deleted', at })
          await trx.deleteFrom('user').where('id', '=', userId).execute()
          record({ type: 'user.deleted', userId, actorId: null, at })
        })
        return { body: { success: true }, cookies: clearCookies(config.cookies) }
      },
    }),
  }
}

/** Returns the members that differ, before and after; null if none does. */
function changedMembers(before: object, after: object): { from: EventDetail; to: EventDetail } | null {
  const former = new Map<string, unknown>(Object.entries(before))
  const changed = Object.entries(after).filter(([name, value]) => former.get(name) !== value)
  if (changed.length === 0) return null
  // The user chooses the length of these texts.
  const cut = (value: unknown) => (typeof value === 'string' ? value.slice(0, MAX_RECORDED_LENGTH) : value)
  const from = changed.map(([name]) => [name, cut(former.get(name))])
  const to = changed.map(([name, value]) => [name, cut(value)])
  return { from: Object.fromEntries(from), to: Object.fromEntries(to) }
}

function schemasOf(columns: SessionColumns): Record<string, z.core.$ZodType> {
  return Object.fromEntries(Object.entries(columns).map(([name, { schema }]) => [name, schema]))
}

/** Locks another admin, so of two admins who delete themselves at once the second is rejected. */
async function rejectLastAdmin(trx: AuthTransaction, userId: string, now: Date): Promise<void> {
  const user = await trx.selectFrom('user').select('role').where('id', '=', userId).executeTakeFirst()
  if (user?.role !== 'admin') return
  const other = await trx
    .selectFrom('user')
    .select('id')
    .where('role', '=', 'admin')
    .where('id', '!=', userId)
    .where((where) => where.or([where('banned', '=', false), where('banExpires', '<=', now)]))
    .orderBy('id')
    .limit(1)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (other === undefined) throw reject('LAST_ADMIN')
}
