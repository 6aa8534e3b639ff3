import { createHash } from 'node:crypto'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { cookieChanges, cookiesAfter, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const PLENTY = { points: 1_000_000, duration: 60 }
const auth = await createTestAuth({ emailPassword: { limits: { address: PLENTY, account: PLENTY } } })
afterAll(() => auth.close())

let user: MadeUser
beforeEach(async () => {
  user = await auth.createUser()
})

const HALF_A_YEAR = 180 * 24 * 3_600
const signIn = (cookie = '', { email } = user, on: Pick<typeof auth, 'handler'> = auth) =>
  on.handler(
    post(
      ENDPOINTS.signInEmail.path,
      { email, password: TEST_PASSWORD },
      { ...(cookie !== '' && { cookie }) },
    ),
  )
const deviceCookie = (response: Response) =>
  response.headers.getSetCookie().find((cookie) => cookie.includes('service.device'))
const devices = async (of = user) =>
  (await dumpTables(auth)).knownDevice?.filter(({ userId }) => userId === of.userId)
const hashOf = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`
const secretOf = (cookie: string | undefined) => /service\.device=([^;]*)/.exec(cookie ?? '')?.[1] ?? ''

describe('a browser that signs in', () => {
  test('gets a cookie that identifies it for half a year', async () => {
    expect(deviceCookie(await signIn())).toMatch(
      new RegExp(`^service\\.device=[\\w-]{43}; Max-Age=${HALF_A_YEAR}; Path=/; HttpOnly; SameSite=Lax$`),
    )
  })

  test('over https, gets a cookie that no other host can set', async () => {
    const secure = await createTestAuth({ baseUrl: 'https://app.example.com' })
    const response = await signIn('', await secure.createUser(), secure)
    expect(deviceCookie(response)).toMatch(/^__Host-service\.device=[\w-]{43}; .*; Secure; SameSite=Lax$/)
    await secure.close()
  })

  test('by signing up, gets it too', async () => {
    const account = { name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: 'a rare password' }
    const response = await auth.handler(post(ENDPOINTS.signUpEmail.path, account))
    expect(deviceCookie(response)).toBeDefined()
  })

  test('is not stored if its user is deleted at the same time, without an error', async () => {
    const own = await createTestAuth({
      async onEvent({ type }) {
        if (type === 'session.created') await own.db.deleteFrom('user').execute()
      },
    })
    const response = await signIn('', await own.createUser(), own)
    expect(response.status).toBe(200)
    expect((await dumpTables(own)).knownDevice).toEqual([])
    await own.close()
  })

  test('is stored only as a hash', async () => {
    const secret = secretOf(deviceCookie(await signIn()))
    const expiresAt = new Date(auth.clock.now().getTime() + HALF_A_YEAR * 1000).toISOString()
    expect(await devices()).toMatchObject([
      { device: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), expiresAt },
    ])
    expect(JSON.stringify(await dumpTables(auth))).not.toContain(secret)
  })

  test('again keeps its cookie, and is known for longer', async () => {
    const first = deviceCookie(await signIn())
    auth.clock.advance(3_600)
    expect(deviceCookie(await signIn(`service.device=${secretOf(first)}`))).toBe(first)
    const expiresAt = new Date(auth.clock.now().getTime() + HALF_A_YEAR * 1000).toISOString()
    expect(await devices()).toMatchObject([{ expiresAt }])
  })

  test.each([
    ['made up', () => 'A'.repeat(43)],
    ['empty', () => ''],
    ['of another account', async () => secretOf(deviceCookie(await signIn('', await auth.createUser())))],
  ])('with a cookie that is %s gets a new one: the old one may have been planted', async (_name, plant) => {
    const planted = await plant()
    const response = await signIn(`service.device=${planted}`)
    const secret = secretOf(deviceCookie(response))
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(secret).not.toBe(planted)
    expect(await devices()).toMatchObject([{ device: hashOf(secret) }])
  })

  test("with a wrong password isn't known", async () => {
    const wrong = { email: user.email, password: 'wrong password' }
    const response = await auth.handler(post(ENDPOINTS.signInEmail.path, wrong))
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await devices()).toEqual([])
  })

  test('with two such cookies is rejected, like with any duplicate cookie', async () => {
    const response = await signIn('service.device=a; service.device=b')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(response)).toBe('401 COOKIE_CONFLICT')
  })
})

test('signing out leaves the browser known', async () => {
  const cookie = cookiesAfter('', await signIn())
  const response = await auth.handler(post(ENDPOINTS.signOut.path, {}, { cookie }))
  expect(cookiesAfter(cookie, response)).toMatch(/^service\.device=/)
  expect(await devices()).toHaveLength(1)
})

test('forgets the least recently used of twenty-one browsers, and none of other users', async () => {
  const other = await auth.createUser()
  await signIn('', other)
  const first = cookiesAfter('', await signIn())
  auth.clock.advance(1)
  const second = cookiesAfter('', await signIn())
  for (let i = 0; i < 18; i++) {
    auth.clock.advance(1)
    await signIn()
  }
  // It has been known since then.
  await signIn(first)
  const before = (await devices()) ?? []
  expect(before).toHaveLength(20)
  auth.clock.advance(1)
  await signIn()
  const after = (await devices()) ?? []
  expect(after).toHaveLength(20)
  const gone = before.filter(({ id }) => !after.some((row) => row.id === id))
  expect(gone).toHaveLength(1)
  const earliest = before.map(({ expiresAt }) => String(expiresAt)).sort()[0]
  expect(gone).toMatchObject([{ expiresAt: earliest }])
  await signIn(second)
  expect(await devices()).toHaveLength(20)
  expect(await devices(other)).toHaveLength(1)
})

test('prunes expired devices', async () => {
  await signIn()
  auth.clock.advance(HALF_A_YEAR - 0.001)
  await auth.prune()
  expect(await devices()).toHaveLength(1)
  auth.clock.advance(0.001)
  await auth.prune()
  expect(await devices()).toEqual([])
  auth.clock.advance(-HALF_A_YEAR)
})
