import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { EndpointError } from '@sallyport/core/internal/server'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { findPasswordAccount, setPassword } from '../../../src/plugins/email-password/accounts.ts'
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

describe('an app may create its first users itself', () => {
  test('with a role', async () => {
    const root = user({ role: 'admin' })
    const { userId } = await createPasswordAccount(database, root)
    expect(await userOf(root.email)).toMatchObject({ id: userId, role: 'admin', name: 'Root' })
    const { email, password } = root
    const response = await auth.handler(post(ENDPOINTS.signInEmail.path, { email, password }))
    expect(await response.json()).toMatchObject({ userId })
  })

  test('who are users unless it is said otherwise', async () => {
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

  test('with an email as sign-in looks it up', async () => {
    const email = newEmail()
    await createPasswordAccount(database, user({ email: ` ${email.toUpperCase()} ` }))
    expect(await userOf(email)).toMatchObject({ email })
  })

  test('with no text for an email that is none', async () => {
    const call = createPasswordAccount(database, user({ email: 'root' }))
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT', fields: ['email'] })
  })

  test('and it is written down', async () => {
    const { userId } = await createPasswordAccount(database, user())
    const records = db
      .selectFrom('audit')
      .select(['type', 'actorId', 'createdAt'])
      .where('userId', '=', userId)
    expect(await records.execute()).toEqual([
      { type: 'user.created', actorId: null, createdAt: clock.now().toISOString() },
    ])
  })
})

describe('the account of a password', () => {
  const find = (column: 'user.email' | 'user.id', value: string) =>
    findPasswordAccount(db, { column, value, now: clock.now() })

  test('is found by the email and by the user', async () => {
    const { email, userId } = await auth.createUser()
    const account = { userId, password: expect.stringMatching(/^\$argon2id\$/), isBanned: false }
    expect(await find('user.email', email)).toEqual(account)
    expect(await find('user.id', userId)).toEqual(account)
  })

  test('is not one of another provider, and none of nobody', async () => {
    const { email, userId } = await auth.createUser()
    await db.updateTable('account').set({ providerId: 'github' }).where('userId', '=', userId).execute()
    expect(await find('user.email', email)).toBeNull()
    expect(await find('user.id', userId)).toBeNull()
    expect(await find('user.email', 'nobody@example.com')).toBeNull()
  })

  test.each([
    ['for ever', null, true],
    ['for a millisecond more', 1, true],
    ['until now', 0, false],
  ])('is banned with its user %s', async (_name, ms, isBanned) => {
    const { email, userId } = await auth.createUser()
    const banExpires = ms === null ? null : new Date(clock.now().getTime() + ms)
    await db.updateTable('user').set({ banned: true, banExpires }).where('id', '=', userId).execute()
    expect(await find('user.email', email)).toMatchObject({ isBanned })
  })
})

describe('a password that is set', () => {
  const set = (userId: string, password: string) =>
    db.transaction().execute((trx) => setPassword(trx, { userId, password, now: clock.now() }))
  const accountsOf = (userId: string) =>
    db.selectFrom('account').selectAll().where('userId', '=', userId).orderBy('providerId').execute()

  test('takes the place of the one before, and touches no other user', async () => {
    const [ada, bob] = [await auth.createUser(), await auth.createUser()]
    const before = await accountsOf(bob.userId)
    const [account] = await accountsOf(ada.userId)
    clock.advance(60)
    await set(ada.userId, 'another hash')
    const updatedAt = clock.now().toISOString()
    expect(await accountsOf(ada.userId)).toEqual([{ ...account, password: 'another hash', updatedAt }])
    expect(await accountsOf(bob.userId)).toEqual(before)
  })

  test('is the first of a user who has signed in by other means', async () => {
    const { userId } = await auth.createUser()
    const github = { providerId: 'github', accountId: '42', password: null }
    await db.updateTable('account').set(github).where('userId', '=', userId).execute()
    await set(userId, 'first hash')
    expect(await accountsOf(userId)).toMatchObject([
      { providerId: 'credential', accountId: userId, password: 'first hash' },
      github,
    ])
  })
})
