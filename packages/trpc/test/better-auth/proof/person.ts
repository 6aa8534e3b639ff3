import * as z from 'zod'
import { type CookieFetch, cookieFetch } from '../../support/cookie-fetch.ts'
import { ORIGIN } from '../../support/visitor.ts'
import type { Headers } from './ask.ts'
import type { ProofApp } from './open-app.ts'

export const PASSWORD = 'a long enough password'

/** A browser, and its calls of Better Auth's HTTP API. */
export interface Browser {
  readonly cookies: CookieFetch
  /** The value of `set-auth-token` in the latest response that had one. */
  readonly bearer: string | null
  /** Resolves to the response's body, or null if the call was rejected. */
  post(path: string, body?: object): Promise<unknown>
  /** Follows a link to the API. Resolves to whether it was accepted. */
  visit(path: string): Promise<boolean>
}

export function openBrowser({ host }: ProofApp): Browser {
  const cookies = cookieFetch({ origin: ORIGIN, 'sec-fetch-site': 'same-origin' })
  let bearer: string | null = null
  const send = async (path: string, init?: RequestInit) => {
    const response = await cookies.fetch(`http://${host}/api/auth${path}`, { ...init, redirect: 'manual' })
    bearer = response.headers.get('set-auth-token') ?? bearer
    return response
  }
  return {
    cookies,
    get bearer() {
      return bearer
    },
    async post(path, body = {}) {
      const headers = { 'content-type': 'application/json' }
      const response = await send(path, { method: 'POST', headers, body: JSON.stringify(body) })
      const text = await response.text()
      return response.ok ? JSON.parse(text) : null
    },
    async visit(path) {
      const { status, headers } = await send(path)
      return status === 302 && !headers.get('location')?.includes('error')
    },
  }
}

/** The headers of a page, of an Expo app, and of a program: each carries a session in its own way. */
export function credentialsOf({ cookies, bearer }: Browser): Record<string, Headers> {
  const cookie = cookies.header()
  return {
    ...(cookie !== '' && {
      page: { cookie, origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
      expo: { cookie, 'expo-origin': 'app://', 'x-sallyport': '1' },
    }),
    ...(bearer !== null && { bearer: { authorization: `Bearer ${bearer}` } }),
  }
}

const signedIn = z.object({ token: z.string(), user: z.object({ id: z.string() }) })

/** A new user, who is signed in. */
export interface Person {
  readonly email: string
  readonly userId: string
  readonly token: string
  readonly page: Browser
}

let people = 0

export async function signUp(app: ProofApp, page: Browser = openBrowser(app)): Promise<Person> {
  const email = `user${++people}@example.com`
  const created = await page.post('/sign-up/email', { name: 'Ada', email, password: PASSWORD })
  const { token, user } = signedIn.parse(created)
  return { email, userId: user.id, token, page }
}

export async function signIn(app: ProofApp, email: string): Promise<Person> {
  const page = openBrowser(app)
  const { token, user } = signedIn.parse(await page.post('/sign-in/email', { email, password: PASSWORD }))
  return { email, userId: user.id, token, page }
}

/** Creates an admin. */
export async function signUpAdmin(app: ProofApp): Promise<Person> {
  const { email } = await signUp(app)
  await app.run(`update "user" set "role" = 'admin' where "email" = '${email}'`)
  return signIn(app, email)
}
