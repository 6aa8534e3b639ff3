import { AUTH_PATH, ENDPOINTS, JWT_LIFETIME_SECONDS } from '@sallyport/core/internal/protocol'
import { expect, test } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { openBrowser, type Profile, type Tab } from './open-browser.ts'
import { type Site, servePage } from './serve-page.ts'

type ClientPage = typeof import('./pages/client-page.ts')

// 50 and 100 in `pnpm test:client`.
const TABS = Number(process.env.TABS ?? 8)
const ROUNDS = Number(process.env.ROUNDS ?? 6)
const TOKEN = `${AUTH_PATH}${ENDPOINTS.token.path}`

const browser = openBrowser()

test.each([
  { count: TABS, with: 'Web Locks', rounds: ROUNDS, requestsPerRound: 1, prepare: async () => {} },
  {
    // Pages without TLS. Their tabs don't take turns.
    count: Math.min(TABS, 8),
    with: 'BroadcastChannel alone',
    rounds: Math.ceil(ROUNDS / 5),
    requestsPerRound: Math.min(TABS, 8),
    prepare: ({ context }: Profile) =>
      context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined })),
  },
])(
  '$count tabs with $with whose JWT expires at once send at most $requestsPerRound token requests in each of $rounds rounds, and stay signed in',
  { timeout: 60_000 + TABS * ROUNDS * 200 },
  async ({ count, rounds, requestsPerRound, prepare }) => {
    await using site = await servePage({ entry: new URL('./pages/client-page.ts', import.meta.url) })
    const profile = await browser.openProfile(site)
    await prepare(profile)
    await profile.fakeClock()
    await profile.signIn(await site.auth.signIn())
    const tabs = await openTabs(profile, count)

    const requests: number[] = []
    for (let round = 0; round < rounds; round++) {
      site.forget()
      site.stage.runs.length = 0
      const answers = await (round % 2 === 0 ? expireInEveryTab : expireOnTheServer)({ site, profile, tabs })
      expect(answers, `round ${round}`).toEqual(Array(count).fill('written'))
      // Each call ran once, however often it was sent.
      expect(site.stage.runs).toHaveLength(count)
      requests.push(site.count(TOKEN))
    }
    expect(requests).toHaveLength(rounds)
    expect(Math.max(...requests)).toBeLessThanOrEqual(requestsPerRound)
    // No call runs later either.
    await Promise.all(tabs.map((tab) => tab.run('write')))
    expect(site.count(TOKEN)).toBe(requests.at(-1))

    const states = await Promise.all(tabs.map((tab) => tab.run('states')))
    const statuses = states.map((seen) => [...new Set(seen.map(({ status }) => status))])
    expect(statuses).toEqual(Array(count).fill(['loading', 'authenticated']))
    console.log(
      `${count} tabs, ${rounds} rounds: ${requests.reduce((sum, count) => sum + count)} token requests`,
    )
  },
)

interface Scene {
  readonly site: Site
  readonly profile: Profile
  readonly tabs: readonly Tab<ClientPage>[]
}

/** Opens tabs one after another, as a user does. */
async function openTabs(profile: Profile, count: number): Promise<Tab<ClientPage>[]> {
  const tabs: Tab<ClientPage>[] = []
  while (tabs.length < count) {
    const tab = await profile.openTab<ClientPage>()
    await tab.run('start')
    tabs.push(tab)
  }
  for (const tab of tabs)
    await eventually(async () => expect((await tab.run('state')).status).toBe('authenticated'))
  return tabs
}

/** Wakes a laptop up: every tab detects the expired JWT, and both its timer and a call request another. */
async function expireInEveryTab({ site, profile, tabs }: Scene): Promise<(string | null)[]> {
  // Hold the response until all tabs are awake. A tab that wakes up later would mistake the new JWT for an
  // old one.
  const held = site.hold(TOKEN)
  site.auth.clock.advance(JWT_LIFETIME_SECONDS)
  await profile.sleep(JWT_LIFETIME_SECONDS)
  await Promise.all(tabs.map((tab) => tab.run('beginWriting')))
  held.release()
  return takeAnswers(tabs)
}

/** Expires the JWT with a slow client clock: a tab only learns of it from a rejection. */
async function expireOnTheServer({ site, profile, tabs }: Scene): Promise<(string | null)[]> {
  site.auth.clock.advance(JWT_LIFETIME_SECONDS)
  await profile.sleep(JWT_LIFETIME_SECONDS / 2)
  await Promise.all(tabs.map((tab) => tab.run('beginWriting')))
  return takeAnswers(tabs)
}

async function takeAnswers(tabs: Scene['tabs']): Promise<(string | null)[]> {
  const answers = await Promise.all(tabs.map((tab) => tab.run('answers')))
  return answers.flat().map(({ data, reason }) => data ?? reason)
}
