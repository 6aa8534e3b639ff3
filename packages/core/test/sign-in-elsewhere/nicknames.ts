import { type AuthPlugin, defineEndpoint, rejections } from '@sallyport/core/auth'
import * as z from 'zod'

const nickname = z.string().regex(/^[a-z0-9]{3,20}$/)
const reasons = { NICKNAME_TAKEN: { status: 409, message: 'Choose another nickname' } } as const
const reject = rejections(reasons)

/** The added column, for Kysely. */
type Tables = { user: { id: string; nickname: string | null } }

/** `POST /api/auth/set-nickname`, `auth.api.setNickname({ nickname, request })` */
const setNickname = defineEndpoint({
  method: 'POST',
  path: '/set-nickname',
  caller: 'user',
  input: z.strictObject({ nickname }),
  output: z.object({ nickname }),
  async run({ nickname }, { identity: { userId }, limit, change }) {
    await limit(`nickname:${userId}`, { points: 5, duration: 24 * 60 * 60 })
    await change(async (trx) => {
      const users = trx.$extendTables<Tables>()
      const taken = users.selectFrom('user').select('id').where('nickname', '=', nickname)
      const owner = await taken.executeTakeFirst()
      if (owner && owner.id !== userId) throw reject('NICKNAME_TAKEN')
      await users.updateTable('user').set({ nickname }).where('id', '=', userId).execute()
    })
    return { body: { nickname } }
  },
})

export const nicknames = () =>
  ({
    id: 'nicknames',
    reasons,
    migrations: {
      '0001_nickname': (schema) =>
        schema.createIndex('user_nickname').unique().on('user').column('nickname').execute(),
    },
    endpoints: { setNickname },
    // Without `input`, `POST /update-user` returns it but can't change it.
    userColumns: { nickname: { schema: nickname.nullable() } },
    async onChange(event, trx) {
      if (event.type !== 'user.banned') return
      const users = trx.$extendTables<Tables>().updateTable('user').set({ nickname: null })
      await users.where('id', '=', event.userId).execute()
    },
  }) satisfies AuthPlugin
