import type { AuthEvent } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { post } from '../support/requests.ts'
import { statusOf } from '../support/status-of.ts'

const LIMIT = { points: 2, duration: 60 }
const events: AuthEvent[] = []
const auth = await createTestAuth({
  emailPassword: { limits: { account: LIMIT, address: { points: 50, duration: 60 } } },
  onEvent: (event) => void (event.type === 'rate-limit.rejected' && events.push(event)),
})
afterEach(async () => {
  events.length = 0
  vi.useRealTimers()
  await auth.db.deleteFrom('sallyport.audit').execute()
})

const rejections = () =>
  auth.db.selectFrom('sallyport.audit').selectAll().where('type', '=', 'rate-limit.rejected').execute()
const signIn = (email: string, remoteAddress: string) =>
  statusOf(
    auth.handler(
      post(
        ENDPOINTS.signInEmail.path,
        { email, password: 'not the right password' },
        { 'user-agent': 'curl/8' },
      ),
      { remoteAddress },
    ),
  )
const newEmail = () => `${crypto.randomUUID()}@example.com`
const times = async (count: number, attempt: () => Promise<string>) => {
  for (let i = 0; i < count; i++) await attempt()
}

describe('a rejection', () => {
  test('is recorded once per key and window, with its origin', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const email = newEmail()
    await times(12, () => signIn(email, '192.0.2.1'))
    expect(await rejections()).toMatchObject([
      { userId: null, address: '192.0.2.1', userAgent: 'curl/8', actingSessionId: null },
    ])
    expect(events).toMatchObject([{ limit: 'sign-in', address: '192.0.2.1' }])
    vi.setSystemTime(Date.now() + 120_001)
    await times(4, () => signIn(email, '192.0.2.1'))
    expect(await rejections()).toHaveLength(2)
  })

  test('is recorded once for many concurrent requests', async () => {
    const email = newEmail()
    await Promise.all(Array.from({ length: 20 }, () => signIn(email, '192.0.2.2')))
    expect(await rejections()).toHaveLength(1)
  })

  test('is recorded for each key, under a hash that distinguishes them', async () => {
    const emails = [newEmail(), newEmail()]
    for (const email of emails) await times(4, () => signIn(email, '192.0.2.3'))
    const rows = await rejections()
    const hashes = rows.map(({ detail }) => JSON.parse(detail).keyHash)
    expect(new Set(hashes).size).toBe(2)
    for (const email of emails) expect(JSON.stringify(rows)).not.toContain(email)
  })

  test("from one network adds at most as many rows as the network's own limit allows", async () => {
    await times(200, () => signIn(newEmail(), '192.0.2.4'))
    const rows = await auth.db.selectFrom('sallyport.audit').select('type').execute()
    // 50 wrong passwords and one rejection.
    expect(rows).toHaveLength(51)
  })

  test('of a signed-in user names the user and the session', async () => {
    const ada = await auth.signIn()
    const confirm = (password: string) =>
      statusOf(auth.handler(post(ENDPOINTS.reauthenticate.path, { password }, { cookie: ada.cookie })))
    await times(2, () => confirm('not the right password'))
    expect(await confirm(TEST_PASSWORD)).toBe('429 RATE_LIMITED')
    expect(await rejections()).toMatchObject([{ userId: ada.userId, actingSessionId: ada.sessionId }])
  })
})
