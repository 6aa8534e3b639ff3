// No accidental sign-outs: wrong clocks, and a server, a database, or a network that is temporarily
// unreachable.
import { AUTH_PATH, ENDPOINTS, JWT_LIFETIME_SECONDS } from '@sallyport/core/internal/protocol'
import type { TestSession } from '@sallyport/core/testing'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { openBrowser, type Profile, type Tab } from './open-browser.ts'
import { type Site, servePage } from './serve-page.ts'

type ClientPage = typeof import('./pages/client-page.ts')

const TOKEN = `${AUTH_PATH}${ENDPOINTS.token.path}`
const HOUR = 60 * 60
const DAY = 24 * HOUR

const browser = openBrowser()

describe('the clock of the client', () => {
  test.each([
    { clock: 'an hour fast', offBySeconds: HOUR },
    { clock: 'an hour slow', offBySeconds: -HOUR },
    { clock: 'a day fast', offBySeconds: DAY },
    { clock: 'a day slow', offBySeconds: -DAY },
  ])('$clock: one token request for each expired JWT, and no sign-out', async ({ offBySeconds }) => {
    await using scene = await openScene({ offBySeconds })
    const { site, tab, ada } = scene
    for (let lifetime = 0; lifetime < 3; lifetime++) {
      site.forget()
      for (let call = 0; call < 3; call++) expect((await tab.run('ask')).data).toBe(ada.userId)
      expect(site.count(TOKEN)).toBe(0)
      await passTime(scene, JWT_LIFETIME_SECONDS)
      // The client refreshes ahead of time, so no call waits for a refresh or is rejected.
      await eventually(() => expect(site.count(TOKEN)).toBe(1))
      for (let call = 0; call < 3; call++) expect((await tab.run('ask')).data).toBe(ada.userId)
      expect(site.count(TOKEN)).toBe(1)
      expect(site.requests.filter(({ status }) => status !== 200)).toEqual([])
    }
    await expectSignedInThroughout(tab)
  })

  test('steps back and forth: at most one token request for a step forward, none for a step back, and no sign-out', async () => {
    await using scene = await openScene({})
    const { site, profile, tab, ada } = scene
    let offBySeconds = 0
    for (const step of [HOUR, -HOUR, DAY, -DAY, -HOUR, HOUR, -DAY, DAY, 30 * DAY, -30 * DAY]) {
      offBySeconds += step
      site.forget()
      await profile.context.clock.setSystemTime(nowOf(scene) + offBySeconds * 1000)
      for (let call = 0; call < 3; call++) expect((await tab.run('ask')).data).toBe(ada.userId)
      await passTime(scene, 20)
      for (let call = 0; call < 3; call++) expect((await tab.run('ask')).data).toBe(ada.userId)
      expect(site.count(TOKEN), `a step of ${step} s`).toBeLessThanOrEqual(step > 0 ? 1 : 0)
      // The client doesn't mistake an old JWT for a new one.
      await passTime(scene, JWT_LIFETIME_SECONDS)
      expect((await tab.run('ask')).data).toBe(ada.userId)
      expect(site.requests.filter(({ status }) => status !== 200)).toEqual([])
    }
    await expectSignedInThroughout(tab)
  })
})

describe('a temporary outage', () => {
  test.each<{
    gone: string
    error: string
    /** A query that needs a new JWT waits for one. */
    query: 'waits' | 'fails'
    /** Whether the browser notifies the page of the recovery. */
    isTold: boolean
    take: (scene: Scene) => unknown
    give: (scene: Scene) => unknown
  }>([
    {
      gone: 'the database',
      error: 'SESSIONS_UNAVAILABLE',
      query: 'waits',
      isTold: false,
      take: ({ site }) => {
        site.isDatabaseDown = true
      },
      give: ({ site }) => {
        site.isDatabaseDown = false
      },
    },
    {
      gone: 'the server',
      error: 'UNREACHABLE',
      query: 'fails',
      isTold: false,
      take: ({ site }) => site.stop(),
      give: ({ site }) => site.start(),
    },
    {
      gone: 'the network',
      error: 'UNREACHABLE',
      query: 'fails',
      isTold: true,
      take: ({ profile }) => profile.context.setOffline(true),
      give: ({ profile }) => profile.context.setOffline(false),
    },
  ])(
    'of $gone: the user stays signed in for 30 s while the JWT expires, and the state has the reason',
    async ({ error, query, isTold, take, give }) => {
      await using scene = await openScene({})
      const { site, profile, tab, ada } = scene
      let attempts = 0
      profile.context.on('request', (request) => {
        if (request.url().endsWith(TOKEN)) attempts++
      })
      await tab.run('watch', 'socket')
      await eventually(async () => expect((await tab.run('watchedSoFar'))[0]?.data).toEqual(['ready']))

      await take(scene)
      site.dropSockets()
      site.auth.clock.advance(JWT_LIFETIME_SECONDS)
      await profile.sleep(JWT_LIFETIME_SECONDS)
      await eventually(async () =>
        expect(await tab.run('state')).toMatchObject({ status: 'authenticated', userId: ada.userId, error }),
      )
      await tab.run('beginAsking')
      expect((await tab.run('write')).reason).toBe(query === 'waits' ? error : 'Failed to fetch')
      for (let waited = 0; waited < 30; waited++) await passTime(scene, 1)
      expect(await tab.run('state')).toMatchObject({ status: 'authenticated', userId: ada.userId })
      // A request that is overtaken by the page's clock is UNREACHABLE at first.
      await eventually(async () => {
        await passTime(scene, 1)
        expect(await tab.run('state')).toMatchObject({ status: 'authenticated', error })
      })
      // The client retries with back-off.
      await eventually(async () => {
        await passTime(scene, 1)
        expect(attempts).toBeGreaterThanOrEqual(3)
      })
      expect(attempts).toBeLessThanOrEqual(10)

      // A notified client doesn't wait for a timer.
      if (isTold) await profile.context.clock.pauseAt(await tab.page.evaluate(() => Date.now() + 1_000))
      await give(scene)
      await eventually(async () => {
        if (!isTold) await passTime(scene, 5)
        expect(await tab.run('state')).toMatchObject({
          status: 'authenticated',
          userId: ada.userId,
          error: null,
        })
      })
      if (isTold) await profile.context.clock.resume()
      const [asked] = await tab.run('answers')
      expect(asked).toMatchObject(query === 'waits' ? { data: ada.userId } : { reason: 'Failed to fetch' })
      expect((await tab.run('ask')).data).toBe(ada.userId)
      // The earlier stream reopens automatically.
      await eventually(async () => {
        await passTime(scene, 1)
        site.stage.ticker.emit('tick', 'back')
        const [watched] = await tab.run('watchedSoFar')
        expect(watched).toMatchObject({ end: null, data: expect.arrayContaining(['back']) })
      })
      await expectSignedInThroughout(tab)
    },
  )
})

interface Scene extends AsyncDisposable {
  readonly site: Site
  readonly profile: Profile
  readonly tab: Tab<ClientPage>
  readonly ada: TestSession
}

async function openScene({ offBySeconds = 0 }): Promise<Scene> {
  const site = await servePage({ entry: new URL('./pages/client-page.ts', import.meta.url) })
  const profile = await browser.openProfile(site)
  await profile.fakeClock(new Date(Date.now() + offBySeconds * 1000))
  const ada = await site.auth.signIn()
  await profile.signIn(ada)
  const tab = await profile.openTab<ClientPage>()
  await tab.run('start')
  await eventually(async () => expect((await tab.run('state')).status).toBe('authenticated'))
  return { site, profile, tab, ada, [Symbol.asyncDispose]: () => site.close() }
}

/** Returns the server's time in milliseconds. */
function nowOf({ site }: Scene): number {
  return site.auth.clock.now().getTime()
}

/** Moves the clocks of the server and the browser. */
async function passTime({ site, profile }: Scene, seconds: number): Promise<void> {
  site.auth.clock.advance(seconds)
  await profile.sleep(seconds)
}

async function expectSignedInThroughout(tab: Tab<ClientPage>): Promise<void> {
  const [first, ...rest] = await tab.run('states')
  expect(first?.status).toBe('loading')
  expect(rest.map(({ status }) => status)).toEqual(rest.map(() => 'authenticated'))
  expect(new Set(rest.map(({ userChanges }) => userChanges)).size).toBe(1)
}
