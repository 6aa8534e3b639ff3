import { type ExpressionBuilder, type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import * as z from 'zod/mini'
import {
  type AuthKysely,
  type AuthTables,
  toBanEnd,
  type UserTable,
} from '../../database/schema/kysely-tables.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id, session, withoutNul } from '../../endpoints/plain-schemas.ts'
import { listSessionsOf } from '../../endpoints/session-list.ts'
import { toUserResponse, userFields } from '../../endpoints/user-record.ts'
import { type AdminUserResponse, ENDPOINTS, type SessionResponse } from '../../protocol.ts'
import { type PageInput, type PageOutput, pageFields, readPage } from '../pagination.ts'
import { usableAccounts } from '../usable-accounts.ts'
import { recordRead } from './list-audit.ts'

export interface ListUsersInput extends PageInput {
  /** Part of an email or a name, in any case. SQLite ignores the case of A to Z only. */
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
    search: z.exactOptional(z.string().check(z.trim(), z.maxLength(320), withoutNul)),
    ...pageFields,
  }),
  output: z.object({ users: z.array(adminUser), nextCursor: z.nullable(z.string()) }),
  async run({ search = '', ...input }, { identity, config, change }) {
    const read = { userId: null, actorId: identity.userId, at: config.now() }
    const event = { type: 'admin.users-listed', ...read, search: search === '' ? null : search } as const
    const { page, nextCursor } = await change(async (trx, record) => {
      await recordRead(trx, record, { event, sessionId: identity.sessionId })
      return readPage(selectUsers(trx, search), { table: 'user', order: 'desc', ...input })
    })
    const users = page.map((row) => ({
      ...toUserResponse(row),
      banned: Boolean(row.banned),
      banReason: row.banReason,
      banExpires: toBanEnd(row.banExpires),
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

/** The ways to sign in that belong to a user. Sign-in by email isn't listed. */
export interface ListUserFactorsOutput {
  /** The password (`credential`) and the linked providers, with when each was added, as ISO 8601. */
  accounts: { provider: string; createdAt: string }[]
  /** Methods of passkeys and second factors: `recovery` is listed even if all codes were used. */
  factors: string[]
}

/** Lists the password, providers, passkeys, and second factors of a user. Records the read. */
export const listUserFactors: Endpoint<{ userId: string }, ListUserFactorsOutput, false> = defineEndpoint({
  ...ENDPOINTS.listUserFactors,
  caller: 'admin',
  input: z.strictObject({ userId: id }),
  output: z.object({
    accounts: z.array(z.object({ provider: z.string(), createdAt: z.string() })),
    factors: z.array(z.string()),
  }),
  async run({ userId }, { identity: { userId: actorId, sessionId }, config, change, secondFactors }) {
    const event = { type: 'admin.factors-listed', userId, actorId, at: config.now() } as const
    const body = await change(async (db, record) => {
      await recordRead(db, record, { event, sessionId })
      const usable = await usableAccounts(db, userId)
      const accounts = usable.map(({ provider, createdAt }) => ({ provider, createdAt }))
      const factors: string[] = []
      for (const { methodsOf } of secondFactors) factors.push(...(await methodsOf(userId, db)))
      return { accounts, factors }
    })
    return { body }
  },
})

/** Selects the users whose email or name contains a text, in any case. */
export function selectUsers(
  db: AuthKysely,
  search: string,
): SelectQueryBuilder<AuthTables, 'user', Selectable<UserTable>> {
  const users = db.selectFrom('user').selectAll()
  return search === '' ? users : users.where((where) => contains(where, search))
}

/** Escapes the wildcards of `like`. */
function contains(where: ExpressionBuilder<AuthTables, 'user'>, search: string) {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
  return where.or(
    (['email', 'name'] as const).map(
      (column) => sql<SqlBool>`lower(${where.ref(column)}) like lower(${pattern}) escape '\\'`,
    ),
  )
}
