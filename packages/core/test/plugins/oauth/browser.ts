import { type AccountEmail, type OauthOptions, oauth } from '@sallyport/core/plugins/oauth'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import {
  type Browser as AppBrowser,
  DEFAULT_ADDRESS,
  openBrowser as openAppBrowser,
} from '../../support/open-browser.ts'
import { cookiesAfter } from '../../support/requests.ts'
import type { Claims } from './oidc-server.ts'

/** What a callback led to. */
export interface Landing {
  readonly status: number
  /** The page, relative to the app if it is one of its pages. */
  readonly page: string
  readonly response: Response
}

/** A browser with its cookies: of the app, and of each provider. */
export interface Browser extends AppBrowser {
  /** Opens the page of a provider. Returns the callback URL to which it sends the browser. */
  visit(url: string): Promise<string>
  /** Opens a callback URL as a link from another site. */
  open(url: string): Promise<Landing>
  /** Begins at the app, visits the provider, and comes back. */
  go(name: Parameters<AppBrowser['call']>[0], input?: object): Promise<Landing>
}

const APP = 'http://localhost:3000'

export const ACME = { provider: 'acme', redirectTo: '/home', errorTo: '/sign-in' }

export async function createOauthAuth(
  options: OauthOptions,
  settings: Parameters<typeof createTestAuth>[0] = {},
) {
  const emails: AccountEmail[] = []
  const plugin = oauth({ sendEmail: async (email) => void emails.push(email), ...options })
  const auth = await createTestAuth({ ...settings, plugins: [plugin, ...(settings.plugins ?? [])] })
  afterAll(() => auth.close())
  return { auth, emails, plugin, open: () => openBrowser(auth) }
}

export function openBrowser(auth: Pick<TestAuth, 'handler'>): Browser {
  const jars = new Map<string, string>()
  const browser: Browser = Object.assign(openAppBrowser(auth), {
    async visit(url: string) {
      let next = new URL(url)
      for (let redirects = 0; redirects < 10; redirects++) {
        const jar = jars.get(next.origin) ?? ''
        const response = await fetch(next, { headers: { cookie: jar }, redirect: 'manual' })
        jars.set(next.origin, cookiesAfter(jar, response))
        const location = response.headers.get('location')
        if (location === null)
          throw new Error(`${next} responded ${response.status}: ${await response.text()}`)
        next = new URL(location, next)
        if (next.origin === APP) return next.href
      }
      throw new Error('Too many redirects')
    },
    async open(url: string) {
      const headers = {
        cookie: browser.cookie,
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      }
      const response = await auth.handler(new Request(url, { headers }), { remoteAddress: DEFAULT_ADDRESS })
      browser.cookie = cookiesAfter(browser.cookie, response)
      const location = response.headers.get('location') ?? ''
      return { status: response.status, page: location.replace(APP, ''), response }
    },
    async go(name: Parameters<AppBrowser['call']>[0], input: object = ACME) {
      const { status, body } = await browser.call(name, input)
      if (status !== '200') throw new Error(status)
      return browser.open(await browser.visit(body.url))
    },
  })
  return browser
}

/** Returns a person whom no other test uses. */
export function newPerson(): Required<Omit<Claims, 'picture'>> {
  const sub = crypto.randomUUID()
  return { sub, email: `${sub}@example.com`, email_verified: true, name: 'Ada' }
}
