import '../../support/remember-hashes.ts'
import { join } from 'node:path'
import type { Auth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import type { AttemptLimits } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { cookieChanges, cookiesAfter, post } from '../../support/requests.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

// The real argon2, which computes each result once, with a counter of password checks.
const verify = vi.hoisted(() => vi.fn())
vi.mock('@node-rs/argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('@node-rs/argon2')>()
  return { ...argon2, verify: verify.mockImplementation(argon2.verify) }
})
// Counters use the system clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const directory = temporaryDirectory()
const LIMIT = { points: 3, duration: 60 }
const PLENTY = { points: 1_000_000, duration: 60 }

type Options = Omit<NonNullable<Parameters<typeof createTestAuth>[0]>, 'plugins' | 'emailPassword'>
async function start({ limits, ...options }: Options & { limits: Partial<AttemptLimits> }) {
  const auth = await createTestAuth({ ...options, emailPassword: { limits } })
  onTestFinished(() => auth.close())
  const user = await auth.createUser()
  verify.mockClear()
  return { auth, user }
}

type Server = Pick<Auth, 'handler'>
interface Attempt {
  email: string
  password?: string
  cookie?: string
  from?: string | undefined
  forwardedFor?: string
}
const attempt = (
  { handler }: Server,
  { email, password = 'wrong password', cookie, from, forwardedFor }: Attempt,
) =>
  handler(
    post(
      ENDPOINTS.signInEmail.path,
      { email, password },
      {
        ...(cookie !== undefined && { cookie }),
        ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
      },
    ),
    { remoteAddress: from },
  )
const statusOf = async (answer: Promise<Response>) => (await answer).status
const inTurn = async (server: Server, attempts: readonly Attempt[]) => {
  const statuses: number[] = []
  for (const each of attempts) statuses.push(await statusOf(attempt(server, each)))
  return statuses
}
const times = <Item>(count: number, item: (i: number) => Item) =>
  Array.from({ length: count }, (_, i) => item(i))
const count = (statuses: readonly number[], status: number) =>
  statuses.filter((each) => each === status).length

describe('checks exactly as many passwords as allowed, of many concurrent attempts', () => {
  const MANY = 60
  const limits = { account: { points: 10, duration: 60 }, address: PLENTY }

  test.each([
    ['in memory', ':memory:'],
    ['on a file', join(directory, 'one.db')],
  ])('%s', async (_name, databaseUrl) => {
    const { auth, user } = await start({ limits, databaseUrl })
    const statuses = await Promise.all(
      times(MANY, (i) => statusOf(attempt(auth, { ...user, from: `192.0.2.${i}` }))),
    )
    expect(verify).toHaveBeenCalledTimes(10)
    expect(count(statuses, 401)).toBe(10)
    expect(count(statuses, 429)).toBe(MANY - 10)
  })

  test("and rejects the right password if it isn't among them", async () => {
    const { auth, user } = await start({ limits: { account: LIMIT, address: PLENTY } })
    expect(
      await inTurn(
        auth,
        times(3, () => user),
      ),
    ).toEqual([401, 401, 401])
    const response = await attempt(auth, { ...user, password: TEST_PASSWORD })
    expect(response.status).toBe(429)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(verify).toHaveBeenCalledTimes(3)
  })
})

describe('attempts are counted by account', () => {
  const limits = { account: LIMIT, address: PLENTY }

  test('from any address, and for any case of the email', async () => {
    const { auth, user } = await start({ limits })
    const attempts = [
      { email: user.email, from: '192.0.2.1' },
      { email: user.email.toUpperCase(), from: '198.51.100.1' },
      { email: ` ${user.email} `, from: '2001:db8::1' },
      { email: user.email, from: '203.0.113.1' },
    ]
    expect(await inTurn(auth, attempts)).toEqual([401, 401, 401, 429])
  })

  test('whether the account exists or not, with the same responses', async () => {
    const { auth, user } = await start({ limits })
    const unknown = { email: `${crypto.randomUUID()}@example.com` }
    for (let i = 0; i < 5; i++) {
      const [known, made] = [await attempt(auth, user), await attempt(auth, unknown)]
      expect([made.status, await made.text()]).toEqual([known.status, await known.text()])
      expect([...made.headers]).toEqual([...known.headers])
    }
  })

  test('each account separately', async () => {
    const { auth, user } = await start({ limits })
    const bob = await auth.createUser()
    expect(
      await inTurn(
        auth,
        times(4, () => user),
      ),
    ).toEqual([401, 401, 401, 429])
    expect(await statusOf(attempt(auth, { ...bob, password: TEST_PASSWORD }))).toBe(200)
  })

  test('and successful attempts are given back, to the address too', async () => {
    const { auth, user } = await start({ limits: { account: LIMIT, address: LIMIT } })
    const right = { ...user, password: TEST_PASSWORD }
    expect(await inTurn(auth, [right, right, right, right, user, user, right, user, right])).toEqual([
      200, 200, 200, 200, 401, 401, 200, 401, 429,
    ])
  })

  test('successful attempts only once they have succeeded', async () => {
    const { auth, user } = await start({ limits: { account: LIMIT, address: PLENTY } })
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const real = verify.getMockImplementation()
    verify.mockImplementation(async (...given) => {
      await opened
      return real?.(...given)
    })
    onTestFinished(() => void verify.mockImplementation((...given) => real?.(...given)))
    const statuses: number[] = []
    const attempts = times(20, async () => {
      statuses.push(await statusOf(attempt(auth, { ...user, password: TEST_PASSWORD })))
    })
    await eventually(() => expect(statuses).toHaveLength(17))
    open()
    await Promise.all(attempts)
    expect([count(statuses, 429), count(statuses, 200)]).toEqual([17, 3])
    expect(
      await inTurn(
        auth,
        times(4, () => user),
      ),
    ).toEqual([401, 401, 401, 429])
  })

  test('the right password of a banned user stays counted', async () => {
    const { auth, user } = await start({ limits })
    await auth.ban(await auth.signIn(user))
    const right = { ...user, password: TEST_PASSWORD }
    expect(
      await inTurn(
        auth,
        times(4, () => right),
      ),
    ).toEqual([403, 403, 403, 429])
  })

  test('until the window ends', async () => {
    const { auth, user } = await start({ limits })
    await inTurn(
      auth,
      times(4, () => user),
    )
    vi.setSystemTime(Date.now() + 59_000)
    expect(await statusOf(attempt(auth, user))).toBe(429)
    vi.setSystemTime(Date.now() + 1_001)
    expect(
      await inTurn(
        auth,
        times(4, () => user),
      ),
    ).toEqual([401, 401, 401, 429])
  })

  test('ten in 15 minutes by default', async () => {
    const { auth, user } = await start({ limits: {} })
    const statuses = await inTurn(
      auth,
      times(11, (i) => ({ ...user, from: `192.0.2.${i}` })),
    )
    expect(count(statuses, 401)).toBe(10)
    const rejected = await attempt(auth, user)
    expect(rejected.headers.get('retry-after')).toBe('900')
  })

  test("and stored without the account's email address", async () => {
    const { auth, user } = await start({ limits, databaseUrl: join(directory, 'keys.db') })
    await attempt(auth, { ...user, from: '192.0.2.1' })
    const { sallyport_rate_limit: counters } = await dumpTables(auth)
    expect(counters).toHaveLength(2)
    expect(JSON.stringify(counters)).not.toContain(user.email)
  })
})

describe('attempts are counted by address', () => {
  const limits = { account: PLENTY, address: LIMIT }
  const strangers = (froms: readonly (string | undefined)[], forwardedFor?: string) =>
    froms.map((from) => ({
      email: `${crypto.randomUUID()}@example.com`,
      from,
      ...(forwardedFor !== undefined && { forwardedFor }),
    }))

  test('an IPv6 /48 has ten times the attempts of a /64, whichever /64 they come from', async () => {
    const { auth } = await start({ limits })
    const inSite = Array.from({ length: 30 }, (_, i) => `2001:db8:7:${i.toString(16)}::1`)
    const statuses = await inTurn(auth, strangers([...inSite, '2001:db8:7:ffff::1', '2001:db8:8::1']))
    expect(statuses).toEqual([...inSite.map(() => 401), 429, 401])
  })

  test('sign-ins and sign-ups together, without hashing a password over the limit', async () => {
    const { auth } = await start({ limits })
    const from = '192.0.2.1'
    expect(await inTurn(auth, strangers([from, from, from]))).toEqual([401, 401, 401])
    const account = { name: 'Eve', email: 'eve@example.com', password: 'a rare password' }
    const response = await auth.handler(post(ENDPOINTS.signUpEmail.path, account), { remoteAddress: from })
    expect(response.status).toBe(429)
    expect(
      await auth.db.selectFrom('user').select('id').where('email', '=', account.email).execute(),
    ).toEqual([])
  })

  test('a hundred in 15 minutes by default', async () => {
    const { auth } = await start({ limits: {} })
    const request = () => auth.handler(post(ENDPOINTS.verifyEmail.path, { token: 'x' }))
    const statuses = await Promise.all(times(110, () => statusOf(request())))
    expect([count(statuses, 400), count(statuses, 429)]).toEqual([100, 10])
  })
})

describe('a known device', () => {
  const from = '192.0.2.1'
  const limits = { account: LIMIT, address: { points: 5, duration: 60 } }
  async function startWithDevice() {
    const { auth, user } = await start({ limits })
    const cookie = cookiesAfter('', await attempt(auth, { ...user, password: TEST_PASSWORD, from }))
    const [device = ''] = cookie.split('; ').filter((pair) => pair.startsWith('service.device='))
    return { auth, user, known: { ...user, cookie: device, from } }
  }

  test("isn't locked out by unknown devices, even from the same address", async () => {
    const { auth, user, known } = await startWithDevice()
    await inTurn(
      auth,
      times(20, () => ({ ...user, from })),
    )
    expect(await statusOf(attempt(auth, { ...user, password: TEST_PASSWORD, from }))).toBe(429)
    expect(await statusOf(attempt(auth, { ...known, password: TEST_PASSWORD }))).toBe(200)
  })

  test('gives unknown devices no more attempts', async () => {
    const { auth, user, known } = await startWithDevice()
    await inTurn(
      auth,
      times(3, () => ({ ...user, from: '192.0.2.2' })),
    )
    expect(await statusOf(attempt(auth, { ...known, password: TEST_PASSWORD }))).toBe(200)
    expect(
      await inTurn(
        auth,
        times(2, () => ({ ...user, from: '192.0.2.3' })),
      ),
    ).toEqual([429, 429])
  })

  test('has as many attempts as an unknown device, and then must wait', async () => {
    const { auth, known } = await startWithDevice()
    expect(
      await inTurn(
        auth,
        times(4, () => known),
      ),
    ).toEqual([401, 401, 401, 429])
    expect(await statusOf(attempt(auth, { ...known, password: TEST_PASSWORD }))).toBe(429)
  })

  test("doesn't use up the attempts of unknown devices, or of its address", async () => {
    const { auth, user, known } = await startWithDevice()
    await inTurn(
      auth,
      times(4, () => known),
    )
    expect(
      await inTurn(
        auth,
        times(4, () => ({ ...user, from })),
      ),
    ).toEqual([401, 401, 401, 429])
  })

  test('of one account is unknown to another', async () => {
    const { auth, known } = await startWithDevice()
    const { email } = await auth.createUser()
    expect(
      await inTurn(
        auth,
        times(4, () => ({ email, from: '192.0.2.9' })),
      ),
    ).toEqual([401, 401, 401, 429])
    expect(await statusOf(attempt(auth, { ...known, email, password: TEST_PASSWORD }))).toBe(429)
  })

  test.each([
    ['made up', () => `service.device=${'A'.repeat(43)}`],
    ['empty', () => 'service.device='],
    [
      'the hash in the database',
      async (auth: Parameters<typeof dumpTables>[0]) =>
        `service.device=${(await dumpTables(auth)).knownDevice?.[0]?.device}`,
    ],
  ])('that is %s is unknown', async (_name, cookieOf) => {
    const { auth, user } = await startWithDevice()
    const cookie = await cookieOf(auth)
    await inTurn(
      auth,
      times(3, () => ({ ...user, from: '192.0.2.9' })),
    )
    expect(await statusOf(attempt(auth, { ...user, cookie, password: TEST_PASSWORD }))).toBe(429)
  })

  test('is unknown after half a year', async () => {
    const { auth, user, known } = await startWithDevice()
    await inTurn(
      auth,
      times(3, () => user),
    )
    auth.clock.advance(180 * 24 * 3_600)
    expect(await statusOf(attempt(auth, { ...known, password: TEST_PASSWORD }))).toBe(429)
  })

  test('is unknown once the password has been changed elsewhere', async () => {
    const { auth, user, known } = await startWithDevice()
    const { cookie } = await auth.signIn(user)
    const passwords = { currentPassword: TEST_PASSWORD, newPassword: 'another rare password' }
    await auth.handler(post(ENDPOINTS.changePassword.path, passwords, { cookie }))
    await inTurn(
      auth,
      times(3, () => ({ ...user, from: '192.0.2.9' })),
    )
    expect(await statusOf(attempt(auth, { ...known, password: 'another rare password' }))).toBe(429)
  })
})

describe('a browser over the limit', () => {
  const limits = { account: LIMIT, address: PLENTY }

  test('gets JSON with the time to wait, and keeps its cookies', async () => {
    const { auth, user } = await start({ limits })
    await inTurn(
      auth,
      times(3, () => user),
    )
    vi.setSystemTime(Date.now() + 18_500)
    const { cookie } = await auth.signIn()
    const response = await attempt(auth, { ...user, cookie })
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({
      code: 'RATE_LIMITED',
      message: 'Too many attempts. Try again later.',
      retryAfterSeconds: 42,
    })
    expect(response.headers.get('retry-after')).toBe('42')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  })
})
