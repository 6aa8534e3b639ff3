import { ENDPOINTS, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { createOutbox } from '../../support/outbox.ts'
import { cookiesAfter, post } from '../../support/requests.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const outbox = createOutbox()
const knownBrowsers: (boolean | null)[] = []
const PLENTY = { points: 1_000_000, duration: 60 }
const auth = await createTestAuth({
  bearer: true,
  emailPassword: { sendEmail: outbox.sendEmail, limits: { account: PLENTY, address: PLENTY, email: PLENTY } },
  async onEvent(event) {
    if (event.type === 'session.created') knownBrowsers.push(event.knownDevice)
  },
})
afterAll(() => auth.close())

let user: MadeUser
beforeEach(async () => {
  user = await auth.createUser()
  await outbox.empty()
  knownBrowsers.length = 0
})

const signIn = (headers: Record<string, string> = {}, password = TEST_PASSWORD) =>
  auth.handler(post(ENDPOINTS.signInEmail.path, { email: user.email, password }, headers), {
    remoteAddress: '192.0.2.7',
  })
/** Sends one more email, which comes after all emails that were due. */
const nothingCame = async () => {
  const ada = await auth.signIn(user)
  await auth.handler(post(ENDPOINTS.sendVerificationEmail.path, {}, { cookie: ada.cookie }))
  await outbox.takeLink('verify-email')
  expect(outbox.emails).toEqual([])
}

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

test('a sign-in from a browser unknown to the account sends an email', async () => {
  await signIn({ 'user-agent': FIREFOX })
  expect(await outbox.takeNotice('new-sign-in')).toEqual({
    kind: 'new-sign-in',
    to: user.email,
    user: { id: user.userId, name: 'Test User', email: user.email },
    at: auth.clock.now(),
    address: '192.0.2.7',
    device: 'Firefox on Linux',
  })
  await nothingCame()
})

test('a sign-in from a known browser sends none', async () => {
  const cookie = cookiesAfter('', await signIn())
  await outbox.takeNotice('new-sign-in')
  await signIn({ cookie })
  await nothingCame()
})

test('a sign-in with the session header sends one, because such a client is never known', async () => {
  await signIn({ [SESSION_HEADER]: NO_SESSION })
  expect(await outbox.takeNotice('new-sign-in')).toMatchObject({ to: user.email })
  expect(knownBrowsers).toEqual([null])
})

test('a rejected sign-in sends none', async () => {
  await signIn({}, 'not the right password')
  await nothingCame()
})

test('a sign-up sends none', async () => {
  const email = `${crypto.randomUUID()}@example.com`
  await auth.handler(post(ENDPOINTS.signUpEmail.path, { name: 'Ada', email, password: 'a rare password' }))
  await outbox.takeLink('verify-email')
  await nothingCame()
})

test('at most ten an hour go to one user', async () => {
  for (let i = 0; i < 12; i++) await signIn()
  for (let i = 0; i < 10; i++) await outbox.takeNotice('new-sign-in')
  await nothingCame()
})

test("truncates the client's device name to 64 characters", async () => {
  await signIn({ 'user-agent': 'x'.repeat(500) })
  const { device } = await outbox.takeNotice('new-sign-in')
  expect(device?.length).toBeLessThanOrEqual(64)
})
