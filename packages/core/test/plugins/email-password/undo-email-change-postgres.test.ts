import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { beforeEach, expect, test } from 'vitest'
import { insertLink } from '../../support/insert-link.ts'
import { createOutbox } from '../../support/outbox.ts'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const PLENTY = { points: 1_000_000, duration: 60 }
const outbox = createOutbox()
const auth = await startPostgresAuth({
  emailPassword: {
    sendEmail: outbox.sendEmail,
    limits: { account: PLENTY, address: PLENTY, email: PLENTY },
  },
})

let user: MadeUser
beforeEach(async () => {
  user = await verifiedUser()
})

/** Creates a user whose former address gets an undo link. */
async function verifiedUser(): Promise<MadeUser> {
  const made = await auth.createUser()
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', made.userId).execute()
  return made
}

const newEmail = () => `${crypto.randomUUID()}@example.com`
const call = (name: keyof typeof ENDPOINTS, body: object, headers = {}) =>
  statusOf(auth.handler(post(ENDPOINTS[name].path, body, headers)))
/** The user's browser, in which a link needs no password. */
const browser = async () => ({ cookie: (await auth.signIn(user.userId)).cookie })
const undo = (token: string) => call('undoEmailChange', { token })
const changeLink = (email: string) => insertLink(auth, { kind: 'change-email', userId: user.userId, email })
const undoLink = () => insertLink(auth, { kind: 'undo-email-change', ...user })
const emailOf = async () =>
  (await auth.db.selectFrom('user').select('email').where('id', '=', user.userId).executeTakeFirst())?.email

test('one of several concurrent uses succeeds', async () => {
  const token = await undoLink()
  const answers = await Promise.all(Array.from({ length: 5 }, () => undo(token)))
  expect(answers.sort()).toEqual(['200', ...Array(4).fill('400 LINK_INVALID')])
})

test('no sign-up takes the former address while the change commits', async () => {
  for (let round = 0; round < 10; round++) {
    const [token, headers] = [await changeLink(newEmail()), await browser()]
    const { email } = user
    const [changed, signedUp] = await Promise.all([
      call('verifyEmail', { token }, headers),
      call('signUpEmail', { name: 'Eve', email, password: 'a rare password' }),
    ])
    expect({ changed, signedUp }).toEqual({ changed: '200', signedUp: '409 EMAIL_TAKEN' })
    user = await verifiedUser()
  }
})

test("a concurrent change doesn't survive an undo, and neither does a sign-in with the old password", async () => {
  for (let round = 0; round < 10; round++) {
    const [token, link, headers] = [await undoLink(), await changeLink(newEmail()), await browser()]
    const [undone] = await Promise.all([
      undo(token),
      call('verifyEmail', { token: link }, headers),
      call('signInEmail', { email: user.email, password: TEST_PASSWORD }),
    ])
    expect(undone).toBe('200')
    expect(await emailOf()).toBe(user.email)
    const sessions = auth.db.selectFrom('session').select('id').where('userId', '=', user.userId)
    expect(await sessions.execute()).toEqual([])
    user = await verifiedUser()
  }
})
