// The scenario matrix of the spec (section 3) in a real browser, with our React components.
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, JWT_LIFETIME_SECONDS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { openBrowser, type Tab } from './open-browser.ts'
import { type Site, servePage } from './serve-page.ts'

type ScenarioPage = typeof import('./pages/scenario-page.tsx')

interface Scene {
  readonly site: Site
  readonly tab: Tab<ScenarioPage>
  readonly ada: TestSession
}

interface Scenario {
  readonly scenario: string
  readonly jwt: string
  readonly session: string
  readonly prepare: (scene: Scene) => unknown
  /**
   * How the API and the token endpoint respond to the next call, in order. The spec's result is that of the
   * last call.
   */
  readonly answers: readonly string[]
  readonly userExperience: string
  /** The page's text at the end. */
  readonly shown: string
  /** Text that the page must never show on the way. */
  readonly neverShown: RegExp
}

const scenarios: readonly Scenario[] = [
  {
    scenario: 'Normal',
    jwt: 'valid',
    session: 'valid',
    prepare: () => {},
    answers: ['me 200'],
    userExperience: 'Access granted',
    shown: 'Access granted',
    neverShown: /Sign in|Failed|One moment|banned/,
  },
  {
    scenario: 'User signs out',
    jwt: 'deleted',
    session: 'deleted',
    async prepare({ tab }) {
      await tab.page.getByText('Sign out').click()
      await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await tab.page.context().cookies()).toEqual([])
    },
    answers: ['me 401'],
    userExperience: 'Redirected to login',
    shown: 'Sign in',
    neverShown: /Access granted|banned/,
  },
  {
    scenario: 'Admin revokes session',
    jwt: 'valid',
    session: 'deleted',
    prepare: revokeAsAdmin,
    answers: ['me 401', 'token 401'],
    userExperience: 'Logged out on next request',
    shown: 'Sign in',
    neverShown: /Access granted|banned/,
  },
  {
    scenario: 'JWT expired, session valid',
    jwt: 'expired',
    session: 'valid',
    prepare: ({ site }) => site.auth.clock.advance(JWT_LIFETIME_SECONDS),
    answers: ['me 401', 'token 200', 'me 200'],
    userExperience: 'Transparent',
    shown: 'Access granted',
    neverShown: /Sign in|Failed|One moment|banned/,
  },
  {
    scenario: 'JWT expired, session expired',
    jwt: 'expired',
    session: 'expired',
    async prepare({ site, ada }) {
      site.auth.clock.advance(JWT_LIFETIME_SECONDS)
      await site.auth.expireSession(ada)
    },
    answers: ['me 401', 'token 401'],
    userExperience: 'Redirected to login',
    shown: 'Sign in',
    neverShown: /Access granted|banned/,
  },
  {
    scenario: 'JWT valid, session expired',
    jwt: 'valid',
    session: 'expired',
    prepare: ({ site, ada }) => site.auth.expireSession(ada),
    answers: ['me 401', 'token 401'],
    userExperience: 'Logged out on next request',
    shown: 'Sign in',
    neverShown: /Access granted|banned/,
  },
  {
    scenario: 'User banned',
    jwt: 'valid',
    session: 'valid with banned flag',
    prepare: ({ site, ada }) => site.auth.ban(ada),
    answers: ['me 403', 'token 403'],
    userExperience: 'Account banned message',
    shown: 'Account banned, Failed',
    neverShown: /Sign in|Access granted/,
  },
]

const browser = openBrowser()
const site = await servePage({ entry: new URL('./pages/scenario-page.tsx', import.meta.url) })
afterAll(() => site.close())

describe('scenario matrix', () => {
  test.each(scenarios)(
    '$scenario (JWT $jwt, session $session): $userExperience',
    async ({ prepare, answers, shown, neverShown }) => {
      const scene = await openScene()
      const { tab } = scene
      await prepare(scene)
      site.forget()
      // A page that shows only the sign-in form has no button.
      const button = tab.page.getByText('Work')
      if (await button.isVisible()) await button.click()
      else expect(await tab.run('callAgain')).not.toBe('accepted')

      await eventually(async () => {
        expect(await tab.run('text')).toBe(shown)
        expect(answersOf(site)).toEqual(answers)
      })
      expect((await tab.run('seen')).filter((text) => neverShown.test(text))).toEqual([])
      expect(tab.page.url()).toBe(`${site.origin}/`)
    },
  )

  test('a user who was redirected to the login signs in there and returns', async () => {
    const { tab, ada } = await openScene()
    await site.auth.revoke(ada)
    await tab.page.getByText('Work').click()
    const { email } = await site.auth.createUser()
    await tab.page.locator('[name=email]').fill(email)
    await tab.page.locator('[name=password]').fill(TEST_PASSWORD)
    await tab.page.getByRole('button').click()
    await tab.page.getByText('Work').click()
    await tab.page.getByText('Access granted').waitFor()
  })
})

async function openScene(): Promise<Scene> {
  const profile = await browser.openProfile(site)
  const ada = await site.auth.signIn()
  await profile.signIn(ada)
  const tab = await profile.openTab<ScenarioPage>()
  await tab.page.getByText('Nothing done yet').waitFor()
  await tab.run('forget')
  return { site, tab, ada }
}

function answersOf({ requests }: Site): string[] {
  const names: Record<string, string> = {
    '/trpc/me': 'me',
    [`${AUTH_PATH}${ENDPOINTS.token.path}`]: 'token',
  }
  return requests.flatMap(({ path, status }) => (names[path] === undefined ? [] : `${names[path]} ${status}`))
}

/** Revokes from an admin's browser. */
async function revokeAsAdmin({ site: { auth, origin }, ada: { sessionId } }: Scene): Promise<void> {
  const { cookie } = await auth.signIn({ role: 'admin' })
  const response = await fetch(`${origin}${AUTH_PATH}${ENDPOINTS.revokeUserSession.path}`, {
    method: 'POST',
    headers: { cookie, [CLIENT_HEADER]: '1', 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId }),
  })
  expect(response.status).toBe(200)
}
