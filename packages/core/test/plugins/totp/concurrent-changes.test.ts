import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type Browser, openBrowser, type Reply } from '../../support/open-browser.ts'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { totpCode } from '../../support/totp-code.ts'

const plugins = () => [totp({ issuer: 'Test' })]
const postgres = await startPostgresAuth({ plugins: plugins() })
const sqlite = await createTestAuth({ plugins: plugins() })
afterAll(() => sqlite.close())

const CALLS = 5
const INVALID = '400 CODE_INVALID'

describe.each([
  { name: 'SQLite', auth: sqlite },
  { name: 'PostgreSQL', auth: postgres },
])('concurrently, in $name', ({ auth }) => {
  let email: string
  /** Sessions of the user, before the app was set up in one of them. */
  let browsers: Browser[]
  let secret: string
  let recoveryCodes: string[]

  beforeEach(async () => {
    email = (await auth.createUser()).email
    browsers = Array.from({ length: CALLS }, () => openBrowser(auth))
    for (const browser of browsers) await browser.signIn(email)
    const [first = openBrowser(auth)] = browsers
    secret = (await first.call('enableTotp')).body.secret
    const confirmed = await first.call('confirmTotp', { code: totpCode(secret, auth) })
    recoveryCodes = confirmed.body.recoveryCodes
    // Each code is accepted once.
    auth.clock.advance(30)
  })

  const newChallenge = async () => (await openBrowser(auth).signIn(email)).body.challenge.token
  const newChallenges = async (count: number) => {
    const challenges: string[] = []
    while (challenges.length < count) challenges.push(await newChallenge())
    return challenges
  }
  const signIn = (challenge: string, code: string) =>
    openBrowser(auth).call('signInTotp', { challenge, code })
  const reauthenticate = (browser: Browser, code: string) => browser.call('reauthenticateTotp', { code })
  const statusesOf = async (calls: readonly Promise<Reply>[]) =>
    (await Promise.all(calls)).map(({ status }) => status).sort()
  const oneOf = (calls: number) => ['200', ...Array(calls - 1).fill(INVALID)]

  test('one of several sign-ins with the same code is accepted', async () => {
    const challenges = await newChallenges(CALLS)
    const code = totpCode(secret, auth)
    expect(await statusesOf(challenges.map((challenge) => signIn(challenge, code)))).toEqual(oneOf(CALLS))
  })

  test('one of several re-authentications with the same code is accepted', async () => {
    const code = totpCode(secret, auth)
    const calls = browsers.map((browser) => reauthenticate(browser, code))
    expect(await statusesOf(calls)).toEqual(oneOf(CALLS))
  })

  test('a code is accepted for a sign-in or for a re-authentication', async () => {
    const challenges = await newChallenges(2)
    const code = totpCode(secret, auth)
    const signIns = challenges.map((challenge) => signIn(challenge, code))
    const proofs = browsers.slice(0, 2).map((browser) => reauthenticate(browser, code))
    expect(await statusesOf([...signIns, ...proofs])).toEqual(oneOf(4))
  })

  test('one of several sign-ins with the same recovery code is accepted', async () => {
    const challenges = await newChallenges(CALLS)
    const [code = ''] = recoveryCodes
    expect(await statusesOf(challenges.map((challenge) => signIn(challenge, code)))).toEqual(oneOf(CALLS))
  })

  test('a challenge completes one sign-in, even with several codes that are right', async () => {
    const challenge = await newChallenge()
    const codes = [totpCode(secret, auth), ...recoveryCodes.slice(0, CALLS - 1)]
    const statuses = await statusesOf(codes.map((code) => signIn(challenge, code)))
    expect(statuses).toEqual(['200', ...Array(CALLS - 1).fill('400 CHALLENGE_INVALID')])
  })
})
