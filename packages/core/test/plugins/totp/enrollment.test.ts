import { beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { insertChallenge } from '../../support/insert-totp.ts'
import { type Browser, openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { createTotpAuth } from './browser.ts'

const { auth, emails, open, codeOf } = await createTotpAuth()

let user: { userId: string; email: string }
/** The session that sets up the app. */
let ada: Browser
/** Another session of the user. */
let laptop: Browser
let secret: string
let recoveryCodes: string[]

beforeEach(async () => {
  user = await auth.createUser()
  ada = open()
  laptop = open()
  for (const browser of [ada, laptop]) await browser.signIn(user.email)
  secret = (await ada.call('enableTotp')).body.secret
  recoveryCodes = (await ada.call('confirmTotp', { code: codeOf(secret) })).body.recoveryCodes
  // Each code is accepted once.
  auth.clock.advance(30)
})

const copyOf = ({ cookie }: Browser) => Object.assign(open(), { cookie })
const statusOf = async (browser: Browser) => (await browser.call('getSession')).status
const sessionOf = async (browser: Browser) => (await browser.call('getSession')).body.session
const audit = () => readAudit(auth, user.userId)
const expectEmail = (email: object) =>
  eventually(() => expect(emails).toContainEqual(expect.objectContaining({ ...email, to: user.email })))

describe('removing the app', () => {
  const disable = (input: object = {}) => ada.call('disableTotp', { code: codeOf(secret), ...input })

  test('replaces the credentials of the session, and is recorded', async () => {
    const copy = copyOf(ada)
    const { id: sessionId } = await sessionOf(ada)
    expect((await disable()).status).toBe('200')
    expect(await statusOf(copy)).toBe('401 TOKEN_INVALID')
    expect(await statusOf(ada)).toBe('200')
    expect((await audit()).slice(-2)).toMatchObject([
      { type: 'totp:disabled', actorId: null },
      { type: 'session.version-changed', sessionId, cause: 'factor-removed', version: 3 },
    ])
  })

  test('ends the other sessions', async () => {
    const { id: sessionId } = await sessionOf(laptop)
    expect((await disable()).status).toBe('200')
    expect(await statusOf(laptop)).toBe('401 SESSION_NOT_FOUND')
    const ended = (await audit()).filter(({ type }) => type === 'session.revoked')
    expect(ended).toMatchObject([{ sessionId, cause: 'factor-changed', actorId: null }])
  })

  test('keeps the other sessions with revokeOtherSessions: false', async () => {
    expect((await disable({ revokeOtherSessions: false })).status).toBe('200')
    expect(await statusOf(laptop)).toBe('200')
    expect((await audit()).map(({ type }) => type)).not.toContain('session.revoked')
  })

  test('sends an email', async () => {
    await disable()
    await expectEmail({ kind: 'totp-disabled', recoveryCodes: 0 })
  })

  test('sends at most ten emails an hour', async () => {
    await disable()
    for (let time = 0; time < 11; time++) {
      const browser = open()
      await browser.signIn(user.email)
      const { secret } = (await browser.call('enableTotp')).body
      const { recoveryCodes } = (await browser.call('confirmTotp', { code: codeOf(secret) })).body
      const [code] = recoveryCodes
      expect((await browser.call('disableTotp', { code })).status).toBe('200')
    }
    const sent = () => emails.filter(({ to }) => to === user.email).map(({ kind }) => kind)
    const ten = ['totp-enabled', 'totp-disabled'].flatMap((kind) => Array(10).fill(kind))
    await eventually(() => expect(sent().sort()).toEqual(ten.sort()))
  })
})

describe('new recovery codes', () => {
  const create = (code = codeOf(secret)) => ada.call('createRecoveryCodes', { code })

  test('replace the credentials of the session, are recorded, and keep the other sessions', async () => {
    const copy = copyOf(ada)
    const { id: sessionId } = await sessionOf(ada)
    expect((await create()).status).toBe('200')
    expect(await statusOf(copy)).toBe('401 TOKEN_INVALID')
    expect(await statusOf(ada)).toBe('200')
    expect(await statusOf(laptop)).toBe('200')
    expect((await audit()).slice(-2)).toMatchObject([
      { type: 'totp:recovery-codes-created', actorId: null },
      { type: 'session.version-changed', sessionId, cause: 'factor-added', version: 3 },
    ])
  })

  test('send an email', async () => {
    await create()
    await expectEmail({ kind: 'recovery-codes-created', recoveryCodes: 10 })
  })

  test('can be created with a former one, which the session then records', async () => {
    expect((await create(recoveryCodes[0])).status).toBe('200')
    expect((await sessionOf(ada)).amr).toEqual(['pwd', 'otp', 'recovery'])
  })

  test('are the only ones that are accepted', async () => {
    const { body } = await create()
    expect(new Set([...body.recoveryCodes, ...recoveryCodes]).size).toBe(20)
    let addresses = 0
    const signIn = async (code: string) => {
      const challenge = await insertChallenge(auth, user.userId)
      const browser = openBrowser(auth, { address: `198.51.100.${++addresses}` })
      return (await browser.call('signInTotp', { challenge, code })).status
    }
    for (const code of recoveryCodes) expect(await signIn(code)).toBe('400 CODE_INVALID')
    for (const code of body.recoveryCodes) expect(await signIn(code)).toBe('200')
  })
})
