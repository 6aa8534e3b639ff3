import { type AuthPlugin, defineEndpoint, type Migrations, rejections } from '@sallyport/core/auth'
import * as z from 'zod'

const DAY_SECONDS = 24 * 60 * 60

/** 3 to 20 lower-case letters and digits. */
const nickname = z.string().regex(/^[a-z0-9]{3,20}$/)

const reasons = { NICKNAME_TAKEN: { status: 409, message: 'Choose another nickname' } } as const
const reject = rejections(reasons)

const migrations: Migrations = {
  async '0001_nickname'(schema, { timestamp }) {
    await schema.createIndex('user_nickname').unique().on('user').column('nickname').execute()
    await schema
      .createTable('formerNickname')
      // The nickname.
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('expiresAt', timestamp, (column) => column.notNull())
      .execute()
    await schema.createIndex('formerNickname_userId').on('formerNickname').column('userId').execute()
    await schema.createIndex('formerNickname_expiresAt').on('formerNickname').column('expiresAt').execute()
  },
}

/** The added columns and tables, for Kysely. */
type NicknameTables = {
  user: { id: string; nickname: string | null }
  formerNickname: { id: string; userId: string; expiresAt: Date }
}

/** `POST /api/auth/set-nickname`, `auth.api.setNickname({ nickname, request })` */
const setNickname = defineEndpoint({
  method: 'POST',
  path: '/set-nickname',
  caller: 'user',
  input: z.strictObject({ nickname }),
  output: z.object({ nickname }),
  async run({ nickname }, { identity: { userId }, config, limit, change }) {
    await limit(`nickname:${userId}`, { points: 5, duration: DAY_SECONDS })
    const now = config.now()
    await change(async (trx) => {
      const tables = trx.$extendTables<NicknameTables>()
      const owner = await tables
        .selectFrom('user')
        .select('id')
        .where('nickname', '=', nickname)
        .executeTakeFirst()
      const formerOwner = await tables
        .selectFrom('formerNickname')
        .select('userId as id')
        .where('id', '=', nickname)
        .where('expiresAt', '>', now)
        .executeTakeFirst()
      if ((owner ?? formerOwner ?? { id: userId }).id !== userId) throw reject('NICKNAME_TAKEN')
      await tables.updateTable('user').set({ nickname }).where('id', '=', userId).execute()
    })
    return { body: { nickname } }
  },
})

/** Adds nicknames. Banned users lose theirs and have a month to reclaim it. */
export const nicknames = () =>
  ({
    id: 'nicknames',
    reasons,
    migrations,
    endpoints: { setNickname },
    // Without `input`, `POST /update-user` returns it but can't change it.
    userColumns: { nickname: { schema: nickname.nullable() } },
    expiringTables: ['formerNickname'],
    async onChange(event, trx) {
      if (event.type !== 'user.banned') return
      const { userId, at } = event
      const tables = trx.$extendTables<NicknameTables>()
      const user = await tables
        .selectFrom('user')
        .select('nickname')
        .where('id', '=', userId)
        .executeTakeFirst()
      if (!user?.nickname) return
      const expiresAt = new Date(at.getTime() + 30 * DAY_SECONDS * 1000)
      await tables
        .insertInto('formerNickname')
        .values({ id: user.nickname, userId, expiresAt })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ userId, expiresAt }))
        .execute()
      await tables.updateTable('user').set({ nickname: null }).where('id', '=', userId).execute()
    },
  }) satisfies AuthPlugin
