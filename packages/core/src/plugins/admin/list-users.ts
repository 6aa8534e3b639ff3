import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import * as z from 'zod/mini'
import { type AuthTables, toNullableDate } from '../../database/schema/kysely-tables.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id, session } from '../../endpoints/plain-schemas.ts'
import { listSessionsOf } from '../../endpoints/session-list.ts'
import { toUserResponse, userFields } from '../../endpoints/user-record.ts'
import { type AdminUserResponse, ENDPOINTS, type SessionResponse } from '../../protocol.ts'
import { type PageInput, type PageOutput, pageFields, readPage } from '../pagination.ts'
import { recordRead } from './list-audit.ts'

export interface ListUsersInput extends PageInput {
  /** Part of an email or a name, in any case. */
  search?: string
}

/** A page of users, the newest first. */
export interface ListUsersOutput extends PageOutput {
  users: AdminUserResponse[]
}

const adminUser = z.object({
  ...userFields,
  banned: z.boolean(),
  banReason: z.nullable(z.string()),
  banExpires: z.nullable(z.string()),
})

/** Lists users, the newest first. Records the read. */
export const listUsers: Endpoint<ListUsersInput, ListUsersOutput, false> = defineEndpoint({
  ...ENDPOINTS.listUsers,
  caller: 'admin',
  input: z.strictObject({
    // PostgreSQL rejects NUL.
    search: z.exactOptional(z.string().check(z.trim(), z.maxLength(320), z.regex(/^[^\0]*$/))),
    ...pageFields,
  }),
  output: z.object({ users: z.array(adminUser), nextCursor: z.nullable(z.string()) }),
  async run({ search = '', ...input }, { identity, config, change }) {
    const read = { userId: null, actorId: identity.userId, at: config.now() }
    const event = { type: 'admin.users-listed', ...read, search: search === '' ? null : search } as const
    const { page, nextCursor } = await change(async (trx, record) => {
      await recordRead(trx, record, { event, sessionId: identity.sessionId })
      const query = trx
        .selectFrom('user')
        .selectAll()
        .$if(search !== '', (users) => users.where((where) => contains(where, search)))
      return readPage(query, { table: 'user', order: 'desc', ...input })
    })
    const users = page.map((row) => ({
      ...toUserResponse(row),
      banned: Boolean(row.banned),
      banReason: row.banReason,
      banExpires: toNullableDate(row.banExpires)?.toISOString() ?? null,
    }))
    return { body: { users, nextCursor } }
  },
})

/** Lists the unexpired sessions of a user. Records the read. */
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

/** Escapes the wildcards of `like`. */
function contains(where: ExpressionBuilder<AuthTables, 'user'>, search: string) {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
  return where.or(
    (['email', 'name'] as const).map(
      (column) => sql<SqlBool>`lower(${where.ref(column)}) like lower(${pattern}) escape '\\'`,
    ),
  )
}
