import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { post } from '../../support/requests.ts'
import { Authenticator } from './authenticator.ts'
import { type Browser, createPasskeyAuth, openBrowser } from './browser.ts'

const { auth } = await createPasskeyAuth()
const [HOME, ELSEWHERE] = ['203.0.113.7', '198.51.100.1']
const MINUTES = 60_000

const LIMITED = '429 RATE_LIMITED'
const INVALID = '400 PASSKEY_INVALID'

// Counters use the system clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())
const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)

/** Another user in each test, so their counters are new. */
let user: { email: string }
let ada: Browser
let laptop: Authenticator
beforeEach(async () => {
  user = await auth.createUser()
  ada = openBrowser(auth, HOME)
  await ada.signIn(user.email)
  laptop = new Authenticator()
  expect((await ada.addPasskey(laptop)).status).toBe('200')
})

const copyAt = (address: string) => Object.assign(openBrowser(auth, address), { cookie: ada.cookie })
const retryAfter = async (name: 'reauthenticatePasskey' | 'createPasskeyOptions', body: object) => {
  const request = post(ENDPOINTS[name].path, body, { cookie: ada.cookie })
  const response = await auth.handler(request, { remoteAddress: HOME })
  return [response.status, response.headers.get('retry-after')]
}

describe('responses of a signed-in user', () => {
  const UNVERIFIED = { isVerified: false }
  const reauthenticateWrong = async (browser = ada) =>
    (await browser.reauthenticate(laptop, UNVERIFIED)).status
  const addWrong = async () => (await ada.addPasskey(new Authenticator(), UNVERIFIED)).status

  /** Uses up the 20 attempts, for both purposes together. */
  async function useUp(): Promise<void> {
    for (let attempt = 0; attempt < 10; attempt++) {
      expect(await reauthenticateWrong()).toBe(INVALID)
      expect(await addWrong()).toBe(INVALID)
    }
  }

  test('are rejected after 20 wrong ones, even if they are right, with the time to wait', async () => {
    await useUp()
    pass(5 * MINUTES)
    const { body } = await ada.call('createPasskeyReauthenticationOptions')
    const response = laptop.get(body)
    expect(await retryAfter('reauthenticatePasskey', { response })).toEqual([429, '600'])
    expect((await ada.addPasskey(new Authenticator())).status).toBe(LIMITED)
  })

  test('are accepted again 15 minutes after the first of them', async () => {
    await useUp()
    pass(15 * MINUTES - 1_000)
    expect((await ada.reauthenticate(laptop)).status).toBe(LIMITED)
    pass(1_001)
    expect((await ada.reauthenticate(laptop)).status).toBe('200')
    expect((await ada.addPasskey(new Authenticator())).status).toBe('200')
  })

  test('are counted by user and network', async () => {
    const bob = openBrowser(auth, HOME)
    await bob.signIn((await auth.createUser()).email)
    const phone = new Authenticator()
    await bob.addPasskey(phone)
    const copy = copyAt(ELSEWHERE)
    await useUp()
    expect(await reauthenticateWrong()).toBe(LIMITED)
    expect((await bob.reauthenticate(phone)).status).toBe('200')
    expect((await copy.reauthenticate(laptop)).status).toBe('200')
  })

  test('do not count if they are accepted', async () => {
    for (let attempt = 0; attempt < 19; attempt++) expect(await reauthenticateWrong()).toBe(INVALID)
    for (let times = 0; times < 3; times++) {
      expect((await ada.reauthenticate(laptop)).status).toBe('200')
      expect((await ada.addPasskey(new Authenticator())).status).toBe('200')
    }
    expect(await reauthenticateWrong()).toBe(INVALID)
    expect(await reauthenticateWrong()).toBe(LIMITED)
  })

  test('leave sign-ins by passkey alone, which count by address', async () => {
    await useUp()
    expect((await openBrowser(auth, HOME).signInPasskey(laptop)).status).toBe('200')
  })
})

describe('options', () => {
  const OPTIONS = 300

  test('of a signed-in user are limited to 300 in 15 minutes, by user and network', async () => {
    const bob = openBrowser(auth, HOME)
    await bob.signIn((await auth.createUser()).email)
    // The passkey of this user needed the first.
    for (let count = 1; count < OPTIONS; count++) {
      const name = count % 2 === 0 ? 'createPasskeyOptions' : 'createPasskeyReauthenticationOptions'
      expect((await ada.call(name)).status).toBe('200')
    }
    expect(await retryAfter('createPasskeyOptions', {})).toEqual([429, '900'])
    expect((await ada.call('createPasskeyReauthenticationOptions')).status).toBe(LIMITED)
    expect((await bob.call('createPasskeyOptions')).status).toBe('200')
    expect((await copyAt(ELSEWHERE).call('createPasskeyOptions')).status).toBe('200')
    // They count by address.
    expect((await ada.call('createPasskeySignInOptions')).status).toBe('200')
    pass(15 * MINUTES + 1)
    expect((await ada.call('createPasskeyOptions')).status).toBe('200')
  })

  test('for a sign-in are limited to 300 in 15 minutes, by address', async () => {
    const visitor = openBrowser(auth, ELSEWHERE)
    for (let count = 0; count < OPTIONS; count++)
      expect((await visitor.call('createPasskeySignInOptions')).status).toBe('200')
    expect((await visitor.call('createPasskeySignInOptions')).status).toBe(LIMITED)
    expect((await openBrowser(auth, HOME).call('createPasskeySignInOptions')).status).toBe('200')
    expect((await copyAt(ELSEWHERE).call('createPasskeyOptions')).status).toBe('200')
    pass(15 * MINUTES + 1)
    expect((await visitor.call('createPasskeySignInOptions')).status).toBe('200')
  })
})
