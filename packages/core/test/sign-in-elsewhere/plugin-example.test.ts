import { isEndpointError } from '@sallyport/core'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, expect, expectTypeOf, test } from 'vitest'
import { post } from '../support/requests.ts'
import { nicknames } from './plugin-example.ts'

const auth = await createTestAuth({ plugins: [nicknames()] })
afterAll(() => auth.close())

let ada: TestSession
let bob: TestSession
let nickname: string
beforeEach(async () => {
  ada = await auth.signIn()
  bob = await auth.signIn()
  nickname = crypto.randomUUID().slice(0, 8)
})

const requestOf = ({ cookie }: TestSession) => post('/', undefined, { cookie })
const choose = (who: TestSession, chosen = nickname) =>
  auth.api.setNickname({ nickname: chosen, request: requestOf(who) })
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (error: unknown) => (isEndpointError(error) ? `${error.status} ${error.code}` : Promise.reject(error)),
  )
const nicknameOf = async (who: TestSession) =>
  (await auth.api.getSession({ request: requestOf(who) })).user.nickname

test('a free nickname is set and returned to its owner', async () => {
  expect(await choose(ada)).toEqual({ nickname })
  expect(await nicknameOf(ada)).toBe(nickname)
})

test('one that is taken cannot', async () => {
  await choose(ada)
  expect(await codeOf(choose(bob))).toBe('409 NICKNAME_TAKEN')
  expect(await codeOf(choose(ada))).toBe('accepted')
})

test('over HTTP it is the same endpoint with the same checks', async () => {
  const send = async (body: object, headers: Record<string, string> = {}) => {
    const response = await auth.handler(post('/set-nickname', body, headers))
    return [response.status, await response.json()]
  }
  const { cookie } = ada
  expect(await send({ nickname }, { cookie })).toEqual([200, { nickname }])
  expect(await send({ nickname }, { cookie: bob.cookie })).toMatchObject([409, { code: 'NICKNAME_TAKEN' }])
  expect(await send({ nickname })).toMatchObject([401, { code: 'TOKEN_MISSING' }])
  expect(await send({ nickname: 'A B' }, { cookie })).toMatchObject([400, { fields: ['nickname'] }])
})

test('update-user does not take the column, since it is not marked as input', async () => {
  const response = await auth.handler(post('/update-user', { nickname }, { cookie: ada.cookie }))
  expect([response.status, (await response.json()).fields]).toEqual([400, ['nickname']])
})

test('five changes in a day are enough', async () => {
  for (let count = 0; count < 5; count++) await choose(ada)
  await expect(choose(ada)).rejects.toMatchObject({ reason: 'RATE_LIMITED' })
  expect(await choose(bob, `${nickname}b`)).toEqual({ nickname: `${nickname}b` })
})

test('a ban takes it away, and keeps it for a month for who had it', async () => {
  const admin = await auth.signIn({ role: 'admin' })
  const ofAda = { userId: ada.userId, request: requestOf(admin) }
  await choose(ada)
  await auth.api.banUser(ofAda)
  expect(await codeOf(choose(bob))).toBe('409 NICKNAME_TAKEN')
  await auth.api.unbanUser(ofAda)
  expect(await codeOf(choose(ada))).toBe('accepted')

  await auth.api.banUser(ofAda)
  auth.clock.advance(31 * 24 * 60 * 60)
  const later = await auth.signIn({ userId: bob.userId })
  expect(await codeOf(choose(later))).toBe('accepted')
  expect(await auth.prune()).toMatchObject({ formerNickname: 1 })
})

test('nothing is banned where the hook fails', async () => {
  const admin = await auth.signIn({ role: 'admin' })
  await choose(ada)
  await auth.db.schema.alterTable('formerNickname').renameTo('elsewhere').execute()
  try {
    const ban = auth.api.banUser({ userId: ada.userId, request: requestOf(admin) })
    await expect(ban).rejects.toThrow('formerNickname')
    expect(await nicknameOf(ada)).toBe(nickname)
  } finally {
    await auth.db.schema.alterTable('elsewhere').renameTo('formerNickname').execute()
  }
})

test('the types of its endpoints and of its column reach auth.api', () => {
  const { api } = auth
  expectTypeOf<Parameters<typeof api.setNickname>[0]['nickname']>().toEqualTypeOf<string>()
  expectTypeOf(api.setNickname).returns.resolves.toEqualTypeOf<{ nickname: string }>()
  expectTypeOf<Awaited<ReturnType<typeof api.getSession>>['user']['nickname']>().toEqualTypeOf<
    string | null
  >()
})
