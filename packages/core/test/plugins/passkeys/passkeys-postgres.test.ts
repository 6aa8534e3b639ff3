import { passkeys } from '@sallyport/core/plugins/passkeys'
import { beforeEach, expect, test } from 'vitest'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { Authenticator } from './authenticator.ts'
import { type Browser, openBrowser } from './browser.ts'

const auth = await startPostgresAuth({ plugins: [passkeys()] })
const open = () => openBrowser(auth, '203.0.113.7')

let ada: Browser
let laptop: Authenticator

beforeEach(async () => {
  const { email } = await auth.createUser()
  ada = open()
  await ada.signIn(email)
  laptop = new Authenticator()
  expect((await ada.addPasskey(laptop)).status).toBe('200')
})

test('a counter can have 32 bits, and must increase', async () => {
  const statusOf = async (counter: number) => (await open().signInPasskey(laptop, { counter })).status
  expect(await statusOf(2 ** 32 - 2)).toBe('200')
  expect(await statusOf(2 ** 32 - 1)).toBe('200')
  expect(await statusOf(2 ** 32 - 1)).toBe('400 PASSKEY_INVALID')
})

test('one of several concurrent responses with the same challenge is accepted', async () => {
  const browser = open()
  const { body } = await browser.call('createPasskeySignInOptions')
  const send = () => browser.call('signInPasskey', { response: laptop.get(body) })
  const replies = await Promise.all(Array.from({ length: 5 }, send))
  expect(replies.map(({ status }) => status).sort()).toEqual(['200', ...Array(4).fill('400 PASSKEY_TIMEOUT')])
})

test('one of several concurrent responses with the same counter is accepted', async () => {
  const counter = 7
  const send = () => open().signInPasskey(laptop, { counter })
  const replies = await Promise.all(Array.from({ length: 5 }, send))
  expect(replies.map(({ status }) => status).sort()).toEqual(['200', ...Array(4).fill('400 PASSKEY_INVALID')])
})

test('two sessions that remove the last two passkeys at once leave one', async () => {
  const phone = new Authenticator()
  await ada.addPasskey(phone)
  const other = open()
  const { userId } = (await other.signInPasskey(phone)).body
  await auth.db.updateTable('account').set({ password: null }).where('userId', '=', userId).execute()
  const remove = (browser: Browser, { id }: Authenticator) =>
    browser.call('removePasskey', { id, revokeOtherSessions: false })
  const replies = await Promise.all([remove(ada, laptop), remove(other, phone)])
  expect(replies.map(({ status }) => status).sort()).toEqual(['200', '409 LAST_WAY_IN'])
})

test('a passkey of another user is rejected, and its row is kept', async () => {
  const { email } = await auth.createUser()
  const bob = open()
  await bob.signIn(email)
  expect((await bob.addPasskey(laptop)).status).toBe('400 PASSKEY_INVALID')
  expect((await open().signInPasskey(laptop)).status).toBe('400 PASSKEY_INVALID')
  expect((await ada.reauthenticate(laptop, { userHandle: null })).status).toBe('200')
})
