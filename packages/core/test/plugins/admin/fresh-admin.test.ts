import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { type AdminOptions, admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import type { MadeUser } from '../../support/user-maker.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

let root: TestSession
let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  root = await auth.signIn({ role: 'admin' })
  user = await auth.createUser()
  ada = await auth.signIn(user)
})

type Handler = typeof auth.handler

/** The targets of a call. */
const INPUTS: Record<string, () => Record<string, string>> = {
  listUsers: () => ({}),
  listUserSessions: () => ({ userId: user.userId }),
  listUserFactors: () => ({ userId: user.userId }),
  listAudit: () => ({ userId: user.userId }),
  revokeUserSession: () => ({ sessionId: ada.sessionId }),
  revokeUserSessions: () => ({ userId: user.userId }),
  banUser: () => ({ userId: user.userId }),
  unbanUser: () => ({ userId: user.userId }),
  setRole: () => ({ userId: user.userId, role: 'admin' }),
  resetUserFactors: () => ({ userId: user.userId, reason: 'lost' }),
}

const FRESH = ['listAudit', 'banUser', 'unbanUser', 'setRole', 'resetUserFactors'] as const
const NOT_FRESH = [
  'listUsers',
  'listUserSessions',
  'listUserFactors',
  'revokeUserSession',
  'revokeUserSessions',
] as const

function call(name: keyof typeof ENDPOINTS, handler: Handler = auth.handler, cookie = root.cookie) {
  const { method, path } = ENDPOINTS[name]
  const input = INPUTS[name]?.() ?? {}
  const query = new URLSearchParams(input)
  return statusOf(
    handler(method === 'GET' ? get(`${path}?${query}`, { cookie }) : post(path, input, { cookie })),
  )
}

/** Sets the time since the admin last proved who they are. */
const age = (seconds: number) =>
  auth.db
    .updateTable('session')
    .set({ lastAuthenticatedAt: new Date(auth.clock.now().getTime() - seconds * 1000) })
    .where('id', '=', root.sessionId)
    .execute()

describe('an admin who last proved who they are years ago', () => {
  beforeEach(() => age(3 * 365 * 24 * 3_600))

  test.each(FRESH)('must re-authenticate to call %s', async (name) => {
    expect(await call(name)).toBe('403 SESSION_NOT_FRESH')
  })

  test.each(NOT_FRESH)('may call %s', async (name) => {
    expect(await call(name)).toBe('200')
  })

  test.each(FRESH)('may call %s after re-authenticating', async (name) => {
    const proof = await auth.handler(
      post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie: root.cookie }),
    )
    expect(await call(name, auth.handler, cookiesAfter(root.cookie, proof))).toBe('200')
  })

  test.each(FRESH)('may call %s after signing in again without a password', async (name) => {
    const { userId } = root
    const request = post('/', {}, { cookie: root.cookie })
    const { headers } = await auth.api.createSession({ userId, request })
    const cookie = cookiesAfter(root.cookie, new Response(null, { headers }))
    expect(await call(name, auth.handler, cookie)).toBe('200')
  })
})

test.each(FRESH)('%s rejects a user without the role before it checks freshness', async (name) => {
  await auth.db
    .updateTable('session')
    .set({ lastAuthenticatedAt: new Date(0) })
    .where('id', '=', ada.sessionId)
    .execute()
  expect(await call(name, auth.handler, ada.cookie)).toBe('403 ROLE_REQUIRED')
})

async function withOption(options: AdminOptions) {
  const { config } = auth
  const { signingKeys } = auth.definition
  const definition = defineAuth({ config, signingKeys, plugins: [emailPassword(), admin(options)] })
  return createAuth(definition, auth.database, { pruneEverySeconds: 0 })
}

describe('admin({ factor })', () => {
  let brief: Awaited<ReturnType<typeof withOption>>
  let anyAge: Awaited<ReturnType<typeof withOption>>
  beforeAll(async () => {
    brief = await withOption({ factor: 'any-second', freshForSeconds: 60 })
    anyAge = await withOption({ factor: 'totp', freshForSeconds: false })
  })

  /** Sets when the admin proved a factor, in seconds before now. */
  const proved = (method: 'otp' | 'passkey', seconds: number) => {
    const now = Math.floor(auth.clock.now().getTime() / 1000)
    const amr = JSON.stringify({ pwd: now, [method]: now - seconds })
    return auth.db.updateTable('session').set({ amr }).where('id', '=', root.sessionId).execute()
  }

  test.each(FRESH)('requires a factor proved within freshForSeconds for %s', async (name) => {
    expect(await call(name, brief.handler)).toBe('403 FACTOR_REQUIRED')
    await proved('passkey', 61)
    expect(await call(name, brief.handler)).toBe('403 SESSION_NOT_FRESH')
    await proved('passkey', 60)
    expect(await call(name, brief.handler)).toBe('200')
  })

  test.each(FRESH)('with freshForSeconds: false, accepts a proof of any age for %s', async (name) => {
    await proved('passkey', 0)
    expect(await call(name, anyAge.handler)).toBe('403 FACTOR_REQUIRED')
    await proved('otp', 3 * 365 * 24 * 3_600)
    expect(await call(name, anyAge.handler)).toBe('200')
  })

  test('says what would satisfy it', async () => {
    const requests = [brief, anyAge].map(({ handler }) =>
      handler(get(ENDPOINTS.listAudit.path, { cookie: root.cookie })),
    )
    const bodies = await Promise.all((await Promise.all(requests)).map((response) => response.json()))
    expect(bodies.map(({ required }) => required)).toEqual([
      { factor: 'any-second', maxAgeSeconds: 60 },
      { factor: 'totp', maxAgeSeconds: null },
    ])
  })

  test.each(NOT_FRESH)("isn't required for %s", async (name) => {
    expect(await call(name, brief.handler)).toBe('200')
  })

  test('rejects an unknown factor', () => {
    expect(() => admin({ factor: JSON.parse('"sms"') })).toThrow('factor: sms is unknown')
  })
})

describe('admin({ freshForSeconds })', () => {
  let brief: Awaited<ReturnType<typeof withOption>>
  let off: Awaited<ReturnType<typeof withOption>>
  beforeAll(async () => {
    brief = await withOption({ freshForSeconds: 60 })
    off = await withOption({ freshForSeconds: false })
  })

  test.each(FRESH)('sets how long a proof lasts for %s', async (name) => {
    await age(61)
    expect(await call(name, brief.handler)).toBe('403 SESSION_NOT_FRESH')
    await age(60)
    expect(await call(name, brief.handler)).toBe('200')
  })

  test('leaves the configured time for the other fresh endpoints', async () => {
    await age(61)
    expect(await call('changeEmail', brief.handler)).not.toBe('403 SESSION_NOT_FRESH')
  })

  test.each(FRESH)('turned off, any admin may call %s', async (name) => {
    await age(3 * 365 * 24 * 3_600)
    expect(await call(name, off.handler)).toBe('200')
  })

  test.each([0, -1, 1.5, Number.NaN])("can't be %j", (freshForSeconds) => {
    expect(() => admin({ freshForSeconds })).toThrow('admin.freshForSeconds must be a positive whole number')
  })
})
