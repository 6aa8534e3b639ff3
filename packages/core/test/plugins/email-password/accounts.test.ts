import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { EndpointError } from '@sallyport/core/internal/server'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { post } from '../../support/requests.ts'
import { stored } from '../../support/stored.ts'

const auth = await createTestAuth()
const { database, db, clock } = auth
afterAll(() => auth.close())

const newEmail = () => `${crypto.randomUUID()}@example.com`
const user = (members: object = {}) => ({
  name: 'Root',
  email: newEmail(),
  password: TEST_PASSWORD,
  now: clock.now(),
  ...members,
})
const userOf = (email: string) =>
  db.selectFrom('user').selectAll().where('email', '=', email).executeTakeFirstOrThrow()

describe('an app can create its first users itself', () => {
  test('with a role', async () => {
    const root = user({ role: 'admin' })
    const { userId } = await createPasswordAccount(database, root)
    expect(await userOf(root.email)).toMatchObject({ id: userId, role: 'admin', name: 'Root' })
    const { email, password } = root
    const response = await auth.handler(post(ENDPOINTS.signInEmail.path, { email, password }))
    expect(await response.json()).toMatchObject({ userId })
  })

  test('who have the role user by default', async () => {
    const ada = user()
    await createPasswordAccount(database, ada)
    expect(await userOf(ada.email)).toMatchObject({ role: 'user' })
  })

  test('each email once', async () => {
    const root = user()
    await createPasswordAccount(database, root)
    const before = await stored(auth)
    const again = createPasswordAccount(database, root)
    await expect(again).rejects.toMatchObject({ code: 'EMAIL_TAKEN' })
    await expect(again).rejects.toBeInstanceOf(EndpointError)
    expect(await stored(auth)).toEqual(before)
  })

  test('with an email normalized as at sign-in', async () => {
    const email = newEmail()
    await createPasswordAccount(database, user({ email: ` ${email.toUpperCase()} ` }))
    expect(await userOf(email)).toMatchObject({ email })
  })

  test('rejects an invalid email', async () => {
    const call = createPasswordAccount(database, user({ email: 'root' }))
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT', fields: ['email'] })
  })

  test('and records the creation', async () => {
    const { userId } = await createPasswordAccount(database, user())
    const records = db
      .selectFrom('sallyport.audit')
      .select(['type', 'actorId', 'createdAt'])
      .where('userId', '=', userId)
    expect(await records.execute()).toEqual([
      { type: 'user.created', actorId: null, createdAt: clock.now().toISOString() },
    ])
  })
})
