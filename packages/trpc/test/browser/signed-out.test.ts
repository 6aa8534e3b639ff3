// No accidental sign-ins: another user, a session revoked elsewhere, and an unconfirmed sign-out.
import { AUTH_PATH, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { openBrowser, type Tab } from './open-browser.ts'
import { servePage } from './serve-page.ts'

type ClientPage = typeof import('./pages/client-page.ts')

const ENTRY = new URL('./pages/client-page.ts', import.meta.url)
const TOKEN = `${AUTH_PATH}${ENDPOINTS.token.path}`
const SIGN_OUT = `${AUTH_PATH}${ENDPOINTS.signOut.path}`

const browser = openBrowser()

/** Repeats the refresh if another tab's JWT arrives in between, since that refresh sends no request. */
function beginRefresh(tab: Tab<ClientPage>, refreshes: { readonly waiting: number }): Promise<void> {
  return eventually(async () => {
    if (refreshes.waiting === 0) await tab.run('beginRefresh')
    expect(refreshes.waiting).toBe(1)
  })
}

describe("another user signs in in another tab during the first user's refresh and queries", () => {
  test.each([
    { way: 'through the client', signIn: 'signIn' },
    { way: 'without the client, so the tabs get no message', signIn: 'signInByHand' },
  ] as const)("$way: the second user gets none of the first user's responses", async ({ signIn }) => {
    await using site = await servePage({ entry: ENTRY })
    const profile = await browser.openProfile(site)
    const ada = await site.auth.signIn()
    const bob = await site.auth.createUser()
    await profile.signIn(ada)
    const first = await profile.openTab<ClientPage>()
    const second = await profile.openTab<ClientPage>()
    for (const tab of [first, second]) {
      await tab.run('start')
      expect((await tab.run('ask')).data).toBe(ada.userId)
    }

    const queries = site.hold('/trpc/')
    const refreshes = site.hold(TOKEN)
    for (const query of ['me', 'slow', 'doublyGuarded'] as const) await first.run('beginAsking', query)
    await eventually(() => expect(queries.waiting).toBe(3))
    await beginRefresh(first, refreshes)

    // A sign-in through the client waits for another tab's refresh, whose cookies would otherwise replace its
    // own.
    const signedIn = second.run(signIn, bob.email, TEST_PASSWORD)
    if (signIn === 'signInByHand') await signedIn
    else await new Promise((resolve) => setTimeout(resolve, 500))
    refreshes.release()
    await signedIn
    // The first user's queries get their responses now. Each tab sends them again, possibly before it learns
    // of the second user.
    queries.release()
    const answers = [...(await first.run('answers')), await first.run('ask'), await second.run('ask')]
    for (const tab of [first, second])
      await eventually(async () => expect((await tab.run('state')).userId).toBe(bob.userId))
    expect(answers).not.toContainEqual(expect.objectContaining({ data: ada.userId, deliveredTo: bob.userId }))
    // The client lets the refresh finish first, so its cookies can't conflict with the second user's.
    const rejected = site.requests.filter(({ status }) => status === 401)
    expect(rejected.length > 0).toBe(signIn === 'signInByHand')

    for (const tab of [first, second]) {
      expect(await tab.run('ask')).toEqual({ data: bob.userId, reason: null, deliveredTo: bob.userId })
      const known = (await tab.run('states')).filter(({ userId }) => userId !== null)
      expect(known.findLast(({ userId }) => userId === ada.userId)?.userChanges).toBe(known[0]?.userChanges)
      expect(known.find(({ userId }) => userId === bob.userId)?.userChanges).toBeGreaterThan(
        known[0]?.userChanges ?? 0,
      )
      // After the second user, the first never appears again.
      const users = known.map(({ userId }) => userId)
      expect([...new Set(users)]).toEqual([ada.userId, bob.userId])
      expect(users.lastIndexOf(ada.userId)).toBeLessThan(users.indexOf(bob.userId))
    }
  })
})

describe('a refresh in flight does not undo a sign-out', () => {
  test.each<{ refresh: string; isOwn?: boolean; isEarly?: boolean; messageDelayMs?: number }>([
    { refresh: 'its own', isOwn: true },
    { refresh: "another tab's" },
    { refresh: "another tab's, with a late message", messageDelayMs: 300 },
    { refresh: "another tab's, before the session is known", isEarly: true },
  ])('$refresh', async ({ isOwn = false, isEarly = false, messageDelayMs = 0 }) => {
    await using site = await servePage({ entry: ENTRY })
    const profile = await browser.openProfile(site)
    await profile.signIn(await site.auth.signIn())
    await profile.context.addInitScript(delayMessages, messageDelayMs)
    const [tab, other] = [await profile.openTab<ClientPage>(), await profile.openTab<ClientPage>()]
    for (const each of isEarly ? [other] : [tab, other]) await startSignedIn(each)

    const refreshes = site.hold(TOKEN)
    await beginRefresh(isOwn ? tab : other, refreshes)
    if (isEarly) await tab.run('start')
    await tab.run('beginSignOut')
    // It waits for the refresh, whose cookies would otherwise arrive after the sign-out.
    refreshes.release()
    for (const each of [tab, other]) await untilSignedOut(each)

    await new Promise((resolve) => setTimeout(resolve, messageDelayMs * 2))
    for (const each of [tab, other]) {
      expect((await each.run('ask')).data).toBeNull()
      expect(await each.run('state')).toMatchObject({ status: 'unauthenticated', userId: null })
      const statuses = (await each.run('states')).map(({ status }) => status)
      expect(statuses.slice(statuses.indexOf('unauthenticated'))).toEqual(['unauthenticated'])
    }
    expect(await profile.context.cookies()).toEqual([])
  })

  async function startSignedIn(tab: Tab<ClientPage>): Promise<void> {
    await tab.run('start')
    await eventually(async () => expect((await tab.run('state')).status).toBe('authenticated'))
  }

  async function untilSignedOut(tab: Tab<ClientPage>): Promise<void> {
    await eventually(async () => expect((await tab.run('state')).status).toBe('unauthenticated'))
  }

  /** Runs in the page: delays the messages of other tabs. */
  function delayMessages(delayMs: number): void {
    Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {
      set(listener: (event: MessageEvent) => void) {
        this.addEventListener('message', (event: MessageEvent) => setTimeout(listener, delayMs, event))
      },
    })
  }
})

test.each(['socket', 'events'] as const)(
  'a revocation in another browser ends the subscription over %s and signs the page out without a reload',
  async (transport) => {
    await using site = await servePage({ entry: ENTRY })
    const { userId } = await site.auth.createUser()
    const [profile, other] = [await browser.openProfile(site), await browser.openProfile(site)]
    await profile.signIn(await site.auth.signIn({ userId }))
    await other.signIn(await site.auth.signIn({ userId }))
    const tab = await profile.openTab<ClientPage>()
    await tab.run('start')
    await tab.run('watch', transport)
    await eventually(async () => expect((await tab.run('watchedSoFar'))[0]?.data).toEqual(['ready']))

    const elsewhere = await other.openTab<ClientPage>()
    expect(await elsewhere.run('revokeOtherSessions')).toBeNull()
    await tab.page.getByText(/^unauthenticated$/).waitFor()
    expect(await tab.run('state')).toMatchObject({ status: 'unauthenticated', userId: null })
    await eventually(async () => expect((await tab.run('watchedSoFar'))[0]?.end).not.toBeNull())
    expect(site.openSockets).toBe(0)
    site.stage.ticker.emit('tick', 'too late')
    expect((await tab.run('watchedSoFar'))[0]?.data).toEqual(['ready'])
    expect(site.requests.filter(({ path }) => path === '/')).toHaveLength(2)
  },
)

test('a sign-out while the database is down shows the failure and retries until the server confirms it', async () => {
  await using site = await servePage({ entry: ENTRY })
  const profile = await browser.openProfile(site)
  await profile.fakeClock()
  const ada = await site.auth.signIn()
  await profile.signIn(ada)
  const tab = await profile.openTab<ClientPage>()
  const other = await profile.openTab<ClientPage>()
  for (const { run } of [tab, other]) {
    await run('start')
    await run('watch', 'socket')
    await eventually(async () => expect((await run('watchedSoFar'))[0]?.data).toEqual(['ready']))
    await eventually(async () => expect((await run('state')).status).toBe('authenticated'))
  }
  const sessions = () =>
    site.auth.db.selectFrom('session').select('id').where('id', '=', ada.sessionId).execute()

  site.isDatabaseDown = true
  await tab.run('beginSignOut')
  await tab.page.getByText('signing-out: Sessions cannot be checked right now').waitFor()
  expect(await tab.run('state')).toMatchObject({ status: 'signing-out', error: 'SESSIONS_UNAVAILABLE' })
  // Meanwhile, the user's subscriptions end.
  await eventually(async () => expect((await tab.run('watchedSoFar'))[0]?.end).not.toBeNull())
  for (let waited = 0; waited < 30; waited += 3) {
    await profile.sleep(3)
    expect((await tab.run('state')).status).toBe('signing-out')
  }
  await eventually(async () => {
    await profile.sleep(1)
    expect(site.count(SIGN_OUT)).toBeGreaterThanOrEqual(3)
  })
  expect(site.count(SIGN_OUT)).toBeLessThanOrEqual(12)
  expect(await sessions()).toHaveLength(1)

  site.isDatabaseDown = false
  await eventually(async () => {
    await profile.sleep(5)
    expect(await tab.run('state')).toMatchObject({ status: 'unauthenticated', userId: null, error: null })
  })
  expect(await sessions()).toEqual([])
  expect((await tab.run('ask')).reason).not.toBeNull()
  // Every tab of the browser, and every socket.
  await eventually(async () => {
    expect((await other.run('state')).status).toBe('unauthenticated')
    expect(site.openSockets).toBe(0)
  })
  const statuses = (await tab.run('states')).map(({ status }) => status)
  expect([...new Set(statuses)]).toEqual(['loading', 'authenticated', 'signing-out', 'unauthenticated'])
})
