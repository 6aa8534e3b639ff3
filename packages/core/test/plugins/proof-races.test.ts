import { createAuth } from '@sallyport/core/auth'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { insertTotp } from '../support/insert-totp.ts'
import { type Browser, openBrowser } from '../support/open-browser.ts'
import { totpCode } from '../support/totp-code.ts'

/** What happens once in another session, after the proof of a call and before its change. */
let meanwhile: (() => Promise<unknown>) | null = null

const auth = await createTestAuth({ plugins: [totp({ issuer: 'Test' })] })
afterAll(() => auth.close())
const server = await createAuth(
  {
    ...auth.definition,
    async definePayload() {
      const happening = meanwhile
      meanwhile = null
      await happening?.()
      return {}
    },
  },
  auth.database,
  { pruneEverySeconds: 0 },
)

const NEW_PASSWORD = 'another rare password'
const keepOthers = { revokeOtherSessions: false }
const codeOf = (secret: string) => totpCode(secret, auth)

let thief: Browser
let owner: Browser
beforeEach(async () => {
  meanwhile = null
  const { email } = await auth.createUser()
  thief = openBrowser(server)
  owner = openBrowser(auth)
  for (const browser of [thief, owner]) await browser.signIn(email)
})

describe('a password that another session changes while it is verified', () => {
  beforeEach(() => {
    const passwords = { currentPassword: TEST_PASSWORD, newPassword: NEW_PASSWORD }
    meanwhile = () => owner.call('changePassword', { ...passwords, ...keepOthers })
  })

  test('sets no other password', async () => {
    const passwords = { currentPassword: TEST_PASSWORD, newPassword: 'the password of a thief' }
    expect((await thief.call('changePassword', passwords)).status).toBe('401 INVALID_CREDENTIALS')
    expect((await owner.call('reauthenticate', { password: NEW_PASSWORD })).status).toBe('200')
  })

  test('makes no session fresh', async () => {
    const { cookie } = thief
    const reply = await thief.call('reauthenticate', { password: TEST_PASSWORD })
    expect([reply.status, thief.cookie]).toEqual(['401 INVALID_CREDENTIALS', cookie])
  })
})

describe('an authenticator app', () => {
  test('is not confirmed if another one has replaced it since its first code', async () => {
    const { secret } = (await thief.call('enableTotp')).body
    let other = ''
    meanwhile = async () => {
      other = (await owner.call('enableTotp')).body.secret
    }
    expect((await thief.call('confirmTotp', { code: codeOf(secret) })).status).toBe('409 TOTP_NOT_ENABLED')
    expect((await owner.call('getTotp')).body.enabledAt).toBe(null)
    expect((await owner.call('confirmTotp', { code: codeOf(other) })).status).toBe('200')
  })

  describe.each(['reauthenticateTotp', 'createRecoveryCodes', 'disableTotp'] as const)(
    'that another session removes after its code, in %s,',
    (endpoint) => {
      let secret: string
      let recoveryCode: string
      beforeEach(async () => {
        secret = (await owner.call('enableTotp')).body.secret
        const confirmed = await owner.call('confirmTotp', { code: codeOf(secret) })
        recoveryCode = confirmed.body.recoveryCodes[0]
        auth.clock.advance(30)
      })

      const enabled = async () => (await owner.call('getTotp')).body
      const disable = () => {
        auth.clock.advance(30)
        return owner.call('disableTotp', { code: codeOf(secret), ...keepOthers })
      }

      test('proves nothing', async () => {
        meanwhile = disable
        expect((await thief.call(endpoint, { code: codeOf(secret) })).status).toBe('409 TOTP_NOT_ENABLED')
        expect((await thief.call('getSession')).body.session.amr).toEqual(['pwd'])
        expect(await enabled()).toEqual({ enabledAt: null, recoveryCodes: 0 })
      })

      test('proves nothing about another one', async () => {
        meanwhile = async () => {
          await disable()
          await insertTotp(auth, [(await owner.call('getSession')).body.user.id])
        }
        expect((await thief.call(endpoint, { code: recoveryCode })).status).toBe('409 TOTP_NOT_ENABLED')
        expect((await thief.call('getSession')).body.session.amr).toEqual(['pwd'])
        expect(await enabled()).toEqual({ enabledAt: expect.any(String), recoveryCodes: 0 })
      })
    },
  )
})
