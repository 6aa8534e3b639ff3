import { createTestAuth } from '@sallyport/core/testing'
import { expect, test } from 'vitest'
import { post } from '../support/requests.ts'
import { nicknames } from './nicknames.ts'

test('a nickname has one owner, until a ban', async () => {
  const auth = await createTestAuth({ plugins: [nicknames()] })
  const [ada, bob, admin] = [await auth.signIn(), await auth.signIn(), await auth.signIn({ role: 'admin' })]
  const requestOf = ({ cookie }: { cookie: string }) => post('/', undefined, { cookie })
  const choose = (who: { cookie: string }) =>
    auth.api.setNickname({ nickname: 'lovelace', request: requestOf(who) })
  expect(await choose(ada)).toEqual({ nickname: 'lovelace' })
  await expect(choose(bob)).rejects.toMatchObject({ status: 409, code: 'NICKNAME_TAKEN' })
  await auth.api.banUser({ userId: ada.userId, request: requestOf(admin) })
  expect(await choose(bob)).toEqual({ nickname: 'lovelace' })
  await auth.close()
})
