import { type ExpressionBuilder, sql } from 'kysely'
import * as z from 'zod'
import { type AuthTables, toNullableDate } from '../../database/schema.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id, session } from '../../endpoints/plain-schemas.ts'
import { listSessionsOf } from '../../endpoints/session-list.ts'
import { toUserResponse, userFields } from '../../endpoints/user-record.ts'
import { type AdminUserResponse, ENDPOINTS, type SessionResponse } from '../../protocol.ts'
import { isAfter, type PageInput, pageFields, toPage } from '../pagination.ts'
import { recordRead } from './record-read.ts'

/** What `GET /admin/list-users` takes. */
export interface ListUsersInput extends PageInput {
  /** Part of an email or a name, in any case. */
  search?: string
}

/** A page of users, the newest first. */
export interface ListUsersOutput {
  users: AdminUserResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

const adminUser = z.object({
  ...userFields,
  banned: z.boolean(),
  banReason: z.string().nullable(),
  banExpires: z.string().nullable(),
})

/** All users, page by page. */
export const listUsers: Endpoint<ListUsersInput, ListUsersOutput, false> = defineEndpoint({
  ...ENDPOINTS.listUsers,
  caller: 'admin',
  input: z.strictObject({
    search: z
      .string()
      .trim()
      .max(320)
      // PostgreSQL rejects it.
      .refine((text) => !text.includes('\0'))
      .exactOptional(),
    ...pageFields,
  }),
  output: z.object({ users: z.array(adminUser), nextCursor: z.string().nullable() }),
  async run({ search = '', limit = 50, cursor }, { identity, config, change }) {
    const read = { userId: null, actorId: identity.userId, at: config.now() }
    const event = { type: 'admin.users-listed', ...read, search: search === '' ? null : search } as const
    const rows = await change(async (trx, record) => {
      await recordRead(trx, record, { event, sessionId: identity.sessionId })
      let query = trx
        .selectFrom('user')
        .selectAll()
        .where(isAfter({ table: 'user', order: 'desc', cursor }))
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1)
      if (search !== '') query = query.where((where) => contains(where, search))
      return query.execute()
    })
    const { page, nextCursor } = toPage(rows, limit)
    const users = page.map((row) => ({
      ...toUserResponse(row),
      banned: Boolean(row.banned),
      banReason: row.banReason,
      banExpires: toNullableDate(row.banExpires)?.toISOString() ?? null,
    }))
    return { body: { users, nextCursor } }
  },
})

/** The sessions of any user. */
export const listUserSessions: Endpoint<{ userId: string }, { sessions: SessionResponse[] }, false> =
  defineEndpoint({
    ...ENDPOINTS.listUserSessions,
    caller: 'admin',
    input: z.strictObject({ userId: id }),
    output: z.object({ sessions: z.array(session) }),
    async run({ userId }, { identity: { userId: actorId, sessionId }, config, change }) {
      const now = config.now()
      const event = { type: 'admin.sessions-listed', userId, actorId, at: now } as const
      const sessions = await change(async (db, record) => {
        await recordRead(db, record, { event, sessionId })
        return listSessionsOf(userId, { db, now, currentId: sessionId })
      })
      return { body: { sessions } }
    },
  })

type UserExpression = ExpressionBuilder<AuthTables, 'user'>

/** With the characters that `like` reads as patterns taken for themselves. */
function contains(where: UserExpression, search: string) {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
  return where.or([
    sql<boolean>`lower(${where.ref('email')}) like lower(${pattern}) escape '\\'`,
    sql<boolean>`lower(${where.ref('name')}) like lower(${pattern}) escape '\\'`,
  ])
}
