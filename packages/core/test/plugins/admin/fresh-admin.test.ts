import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cookiesAfter, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { createUserMaker, type MadeUser } from '../../support/user-maker.ts'

const auth = await createTestAuth()
const makeUser = await createUserMaker(auth)
afterAll(() => auth.close())

let root: TestSession
let user: MadeUser
let ada: TestSession
beforeEach(async () => {
  root = await auth.signIn(await makeUser('admin'))
  user = await makeUser()
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
}

const FRESH = ['listAudit', 'banUser', 'unbanUser', 'setRole'] as const
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

describe('admin({ freshForSeconds })', () => {
  const withOption = async (freshForSeconds: number | false) => {
    const { config } = auth
    const { signingKeys } = auth.definition
    const plugins = [emailPassword(), admin({ freshForSeconds })]
    const definition = defineAuth({ config, signingKeys, plugins })
    return createAuth(definition, auth.database, { pruneEverySeconds: 0 })
  }
  let brief: Awaited<ReturnType<typeof withOption>>
  let off: Awaited<ReturnType<typeof withOption>>
  beforeAll(async () => {
    brief = await withOption(60)
    off = await withOption(false)
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
