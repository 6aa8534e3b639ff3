import { type CodeEmail, emailCode } from '@sallyport/core/plugins/email-code'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { insertLink } from '../support/insert-link.ts'
import { Authenticator } from './passkeys/authenticator.ts'
import { type Browser, openBrowser } from './passkeys/browser.ts'

const NEW_PASSWORD = 'another horse battery staple'

async function createAuth({ requiredAtSignIn }: { requiredAtSignIn: boolean }) {
  const emails: CodeEmail[] = []
  const sendEmail = async (email: { kind: string }) => void (isCode(email) && emails.push(email))
  const plugins = [passkeys({ requiredAtSignIn }), emailCode({ sendEmail })]
  const auth = await createTestAuth({ plugins })
  afterAll(() => auth.close())
  return { auth, emails }
}

const isCode = (email: { kind: string }): email is CodeEmail => email.kind === 'email-code'

/** Whether a sign-in by password or email needs the passkey that the attacker has added. */
describe.each([true, false])('with requiredAtSignIn: %s', async (requiredAtSignIn) => {
  const { auth, emails } = await createAuth({ requiredAtSignIn })
  const open = () => openBrowser(auth, '203.0.113.7')

  /** The address belongs to the owner, who has never used the app. */
  let user: { userId: string; email: string }
  let attacker: Browser
  let authenticator: Authenticator
  beforeEach(async () => {
    user = await auth.createUser()
    attacker = open()
    await attacker.signIn(user.email)
    authenticator = new Authenticator()
    expect((await attacker.addPasskey(authenticator)).status).toBe('200')
  })

  const isVerified = async () => {
    const query = auth.db.selectFrom('user').select('emailVerified').where('id', '=', user.userId)
    return Boolean((await query.executeTakeFirst())?.emailVerified)
  }

  /** The attacker keeps the account without its address, or loses it. */
  async function expectApart(ownerStatus: string): Promise<void> {
    const theirs = await open().signInPasskey(authenticator)
    expect((await attacker.call('token')).status === '200' || theirs.status === '200').toBe(requiredAtSignIn)
    expect(ownerStatus).toBe(requiredAtSignIn ? '403 FACTOR_REQUIRED' : '200')
    expect(await isVerified()).toBe(!requiredAtSignIn)
  }

  test('the owner who resets the password never shares the account with an attacker', async () => {
    const token = await insertLink(auth, { ...user, kind: 'reset-password' })
    expect((await open().call('resetPassword', { token, newPassword: NEW_PASSWORD })).status).toBe('200')
    const owner = open()
    const reply = await owner.call('signInEmail', { email: user.email, password: NEW_PASSWORD })
    await expectApart(reply.status)
  })

  test('the owner who signs in by a code from an email never shares it either', async () => {
    const owner = open()
    await owner.call('requestEmailCode', { email: user.email })
    const code = await eventually(() => {
      const email = emails.find(({ to }) => to === user.email)
      if (email === undefined) throw new Error('No code came')
      return email.code
    })
    await expectApart((await owner.call('signInEmailCode', { code })).status)
  })
})
