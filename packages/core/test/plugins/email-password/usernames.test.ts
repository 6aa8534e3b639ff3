import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { openBrowser } from '../../support/open-browser.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { post } from '../../support/requests.ts'
import { stored } from '../../support/stored.ts'

const many = { points: 1_000_000, duration: 60 }
const createAuth = async (options = {}) => {
  const auth = await createTestAuth({
    emailPassword: { usernames: true, limits: { address: many }, ...options },
  })
  afterAll(() => auth.close())
  return auth
}
const auth = await createAuth()
const open = () => openBrowser(auth)

let names = 0
const newName = () => `ada-${++names}.l_x`
const newUser = () => ({ name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: TEST_PASSWORD })
const signedUp = async () => {
  const user = { ...newUser(), username: newName() }
  const browser = open()
  const { status, body } = await browser.call('signUpEmail', user)
  expect(status).toBe('200')
  const { userId }: { userId: string } = body
  return { ...user, userId, browser }
}

describe('a username', () => {
  test('at sign-up is stored in lower case, and returned to its user', async () => {
    const browser = open()
    await browser.call('signUpEmail', { ...newUser(), username: ' Grace.Hopper ' })
    expect((await browser.call('getUsername')).body).toEqual({ username: 'grace.hopper' })
  })

  test('is optional', async () => {
    const browser = open()
    expect((await browser.call('signUpEmail', newUser())).status).toBe('200')
    expect((await browser.call('getUsername')).body).toEqual({ username: null })
  })

  test.each(['ab', 'x'.repeat(31), 'a b c', 'ada@example', 'ädä', '-ada', 'ada.', '...', 'ada/', 'ada\n1'])(
    '%j is not valid',
    async (username) => {
      const reply = await open().call('signUpEmail', { ...newUser(), username })
      expect(reply).toMatchObject({ status: '400 INVALID_INPUT', body: { fields: ['username'] } })
    },
  )

  test.each(['abc', 'x'.repeat(30), 'a_b', '123'])('%j is valid', async (username) => {
    expect((await open().call('signUpEmail', { ...newUser(), username })).status).toBe('200')
  })

  test.each(['admin', 'Admin', 'a.d.m.i.n', 'sup_port', 'root'])('%j is reserved', async (username) => {
    const before = await stored(auth)
    const reply = await open().call('signUpEmail', { ...newUser(), username })
    expect(reply.status).toBe('409 USERNAME_TAKEN')
    expect(await stored(auth)).toEqual(before)
  })

  test('that is taken, in any case, is rejected, and no account is created', async () => {
    const { username } = await signedUp()
    const before = await stored(auth)
    const reply = await open().call('signUpEmail', { ...newUser(), username: username.toUpperCase() })
    expect(reply.status).toBe('409 USERNAME_TAKEN')
    expect(await stored(auth)).toEqual(before)
  })

  test('is rejected as a password', async () => {
    const reply = await open().call('signUpEmail', {
      ...newUser(),
      username: 'zyxomma_tarn',
      password: 'Zyxomma-Tarn1',
    })
    expect(reply.status).toBe('400 PASSWORD_TOO_COMMON')
  })

  test('is free again once its user is deleted', async () => {
    const { username, browser } = await signedUp()
    await browser.call('deleteUser')
    expect((await open().call('signUpEmail', { ...newUser(), username })).status).toBe('200')
  })
})

describe('sign-in', () => {
  test('works with the username in any case, and with the email', async () => {
    const { username, email, userId } = await signedUp()
    for (const name of [username, ` ${username.toUpperCase()} `, email])
      expect((await open().signIn(name)).body).toMatchObject({ userId })
  })

  test('responds the same to an unknown username and a wrong password, byte for byte', async () => {
    const { username, userId } = await signedUp()
    const send = (email: string) =>
      auth.handler(post(ENDPOINTS.signInEmail.path, { email, password: 'wrong password' }))
    const [wrong, unknown] = [await send(username), await send(newName())]
    expect(await wrong.text()).toBe(await unknown.text())
    expect([wrong.status, [...wrong.headers]]).toEqual([unknown.status, [...unknown.headers]])
    expect(await readAudit(auth, userId)).toContainEqual(
      expect.objectContaining({ type: 'sign-in.failed', reason: 'INVALID_CREDENTIALS' }),
    )
  })

  test('is limited by username, without revealing which email the username belongs to', async () => {
    const { username, email } = await signedUp()
    for (let attempt = 0; attempt < 10; attempt++) await open().signIn(email, 'wrong password')
    expect((await open().signIn(email, 'wrong password')).status).toBe('429 RATE_LIMITED')
    for (let attempt = 0; attempt < 10; attempt++)
      expect((await open().signIn(username, 'wrong password')).status).toBe('401 INVALID_CREDENTIALS')
    expect((await open().signIn(username, 'wrong password')).status).toBe('429 RATE_LIMITED')
  })

  test('by username knows the browser that has signed in before', async () => {
    const { username, browser } = await signedUp()
    for (let attempt = 0; attempt < 11; attempt++) await open().signIn(username, 'wrong password')
    expect((await browser.signIn(username)).status).toBe('200')
  })

  test('without the option accepts emails alone', async () => {
    const without = await createTestAuth()
    const browser = openBrowser(without)
    expect((await browser.signIn('ada')).status).toBe('400 INVALID_INPUT')
    const reply = await browser.call('signUpEmail', { ...newUser(), username: 'ada' })
    expect(reply.status).toBe('400 INVALID_INPUT')
    expect((await browser.call('changeUsername', { username: 'ada' })).status).toBe('404 NOT_FOUND')
    await without.close()
  })
})

describe('changing it', () => {
  test('frees the former name, and is recorded', async () => {
    const { username, browser, userId } = await signedUp()
    const to = newName()
    expect((await browser.call('changeUsername', { username: to })).body).toEqual({ username: to })
    expect((await open().signIn(username)).status).toBe('401 INVALID_CREDENTIALS')
    expect((await open().signIn(to)).body).toMatchObject({ userId })
    expect((await open().call('signUpEmail', { ...newUser(), username })).status).toBe('200')
    const changed = { type: 'email-password:username-changed', from: username, to }
    expect(await readAudit(auth, userId)).toContainEqual(expect.objectContaining(changed))
  })

  test('sends an email', async () => {
    const { sendEmail, emails } = createOutbox()
    const informing = await createAuth({ sendEmail })
    const { userId, email } = await informing.createUser()
    const browser = openBrowser(informing)
    await browser.signIn(email)
    await browser.call('changeUsername', { username: newName() })
    const user = expect.objectContaining({ id: userId })
    const notice = { kind: 'username-changed', to: email, user }
    await eventually(() => expect(emails).toContainEqual(notice))
  })

  test('to a taken name is rejected, and the user keeps the former', async () => {
    const [ada, bob] = [await signedUp(), await signedUp()]
    const reply = await ada.browser.call('changeUsername', { username: bob.username })
    expect(reply.status).toBe('409 USERNAME_TAKEN')
    expect((await ada.browser.call('getUsername')).body).toEqual({ username: ada.username })
  })

  test('to the same name by two users at once succeeds for one', async () => {
    const [ada, bob] = [await signedUp(), await signedUp()]
    const username = newName()
    const replies = await Promise.all(
      [ada, bob].map(({ browser }) => browser.call('changeUsername', { username })),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual(['200', '409 USERNAME_TAKEN'])
  })

  test('is limited to five times a day, without those that a taken name rejects', async () => {
    const [{ browser }, { username }] = [await signedUp(), await signedUp()]
    for (let change = 0; change < 6; change++)
      expect((await browser.call('changeUsername', { username })).status).toBe('409 USERNAME_TAKEN')
    for (let change = 0; change < 5; change++) await browser.call('changeUsername', { username: newName() })
    expect((await browser.call('changeUsername', { username: newName() })).status).toBe('429 RATE_LIMITED')
  })

  test('needs a recent sign-in', async () => {
    const { browser } = await signedUp()
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    await browser.call('token')
    const reply = await browser.call('changeUsername', { username: newName() })
    expect(reply.status).toBe('403 SESSION_NOT_FRESH')
  })
})

test('with requireVerified, sign-up takes no username, since it would reveal whether the email is taken', async () => {
  const strict = await createAuth({ requireVerified: true, sendEmail: async () => {} })
  const reply = await openBrowser(strict).call('signUpEmail', { ...newUser(), username: 'ada' })
  expect(reply).toMatchObject({ status: '400 INVALID_INPUT', body: { fields: ['username'] } })
})
