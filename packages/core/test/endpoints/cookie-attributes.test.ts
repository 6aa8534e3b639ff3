import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startEveryPlugin } from '../support/every-plugin.ts'
import { insertEmailCode } from '../support/insert-email-code.ts'
import { insertChallenge, insertTotp } from '../support/insert-totp.ts'

const everyPlugin = await startEveryPlugin()

const page = 'https://app.example.com'
const SHARED = [
  {
    options: { cookieDomain: 'example.com' },
    suffix: 'Domain=example.com; Path=/; HttpOnly; Secure; SameSite=Lax',
    names: ['service.jwt', '__Secure-service.session', '__Secure-service.device'],
    other: '__Host-service.session',
  },
  {
    options: { cookieSameSite: 'none' },
    suffix: 'Path=/; HttpOnly; Secure; Partitioned; SameSite=None',
    names: ['service.jwt', '__Host-service.session', '__Host-service.device'],
    other: '__Secure-service.session',
  },
] as const

describe.each(SHARED)('with $options', ({ options, suffix, names, other }) => {
  async function open() {
    const auth = await createTestAuth({
      baseUrl: 'https://api.example.com',
      allowedOrigins: [page],
      plugins: everyPlugin,
      ...options,
    })
    onTestFinished(() => auth.close())
    const send = (path: string, init: RequestInit) =>
      auth.handler(new Request(`https://api.example.com/api/auth${path}`, init))
    const from = (cookie: string) => ({ cookie, origin: page, 'sec-fetch-site': 'cross-site' })
    return {
      auth,
      refresh: (cookie: string) => send(ENDPOINTS.token.path, { headers: from(cookie) }),
      post: (path: string, cookie: string, body: object = {}) =>
        send(path, {
          method: 'POST',
          headers: { ...from(cookie), 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
    }
  }

  test('a sign-up sets every cookie with these attributes, and sign-out and a lost session clear them', async () => {
    const { auth, post, refresh } = await open()
    const user = { name: 'Ada', email: 'ada@example.com', password: TEST_PASSWORD }
    const set = (await post('/sign-up/email', '', user)).headers.getSetCookie()
    expect(set.map((cookie) => cookie.split('=')[0])).toEqual([...names, `${names[2]}-email`])
    for (const cookie of set) expect(cookie).toMatch(new RegExp(`; Max-Age=\\d+; ${suffix}$`))
    const [jwt, session] = names
    const cleared = [jwt, session].map((name) => `${name}=; Max-Age=0; ${suffix}`)
    const { cookie } = await auth.signIn()
    expect((await post(ENDPOINTS.signOut.path, cookie)).headers.getSetCookie()).toEqual(cleared)
    expect((await refresh(cookie)).headers.getSetCookie()).toEqual(cleared)
  })

  test('the cookies of plugins have these attributes', async () => {
    const { auth, post } = await open()
    const { userId, email } = await auth.createUser()
    const device = names[2]
    const isOwn = async (answer: Promise<Response>, suffixes: readonly string[]) => {
      const set = (await answer).headers.getSetCookie().filter((cookie) => cookie.startsWith(`${device}-`))
      expect(set.map((cookie) => cookie.slice(device.length).split('=')[0])).toEqual(suffixes)
      for (const cookie of set) expect(cookie).toMatch(new RegExp(`; Max-Age=\\d+; ${suffix}$`))
    }
    await isOwn(post(ENDPOINTS.createPasskeySignInOptions.path, ''), ['-passkey'])
    await isOwn(post(ENDPOINTS.requestEmailCode.path, '', { email }), ['-email-code'])
    const { code, requestToken } = await insertEmailCode(auth, email)
    const requested = `${device}-email-code=${requestToken}`
    await isOwn(post(ENDPOINTS.signInEmailCode.path, requested, { code }), ['-email', '-email-code'])
    const totp = await insertTotp(auth, [userId])
    const challenge = await insertChallenge(auth, userId)
    await isOwn(post(ENDPOINTS.signInTotp.path, '', { ...totp, challenge, trustDevice: true }), [
      '-email',
      '-trusted',
    ])
  })

  test.each([other, 'service.session'])('ignores a session cookie named %s', async (name) => {
    const { auth, refresh } = await open()
    const { sessionCookie } = await auth.signIn()
    const [, session] = names
    expect((await refresh(`${session}=${sessionCookie}`)).status).toBe(200)
    const rejected = await refresh(`${name}=${sessionCookie}`)
    expect([rejected.status, (await rejected.json()).code]).toEqual([401, 'SESSION_NOT_FOUND'])
  })

  test('rejects two cookies of one name, as from two domains, with COOKIE_CONFLICT', async () => {
    const { auth, refresh } = await open()
    const { sessionCookie } = await auth.signIn()
    const [, session] = names
    const rejected = await refresh(`${session}=${sessionCookie}; ${session}=planted.secret`)
    expect([rejected.status, (await rejected.json()).code]).toEqual([401, 'COOKIE_CONFLICT'])
    expect(rejected.headers.getSetCookie()).toEqual([])
  })
})
