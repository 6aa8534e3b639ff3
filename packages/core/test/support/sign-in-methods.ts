import type { CodeEmail } from '@sallyport/core/plugins/email-code'
import { TEST_PASSWORD, type TestAuth, type TestClock } from '@sallyport/core/testing'
import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client'
import pLimit from 'p-limit'
import { expect, vi } from 'vitest'
import { createDeck, type Random } from '../hostile/random.ts'
import { type Browser, newPerson, openBrowser } from '../plugins/oauth/browser.ts'
import { type LocalProvider, startLocalProvider } from '../plugins/oauth/local-provider.ts'
import type { Claims } from '../plugins/oauth/oidc-server.ts'
import { Authenticator } from '../plugins/passkeys/authenticator.ts'
import { APP_LINK, startEveryPlugin } from './every-plugin.ts'
import { insertOauthAccount } from './insert-oauth.ts'
import { insertChallenge } from './insert-totp.ts'
import type { Reply } from './open-browser.ts'
import { cookiesAfter, get } from './requests.ts'
import { totpCode } from './totp-code.ts'
import { createUserMaker, type MadeUser } from './user-maker.ts'

/** The provider and the mailboxes of the users. */
export interface SignInWorld {
  readonly acme: LocalProvider
  /** The last code or link that each address got. */
  readonly emails: Map<string, CodeEmail>
  /** The plugins that the server needs, in addition to `emailPassword(everyPasswordOption)`. */
  readonly plugins: Awaited<ReturnType<typeof startEveryPlugin>>
}

/** Starts the provider, until the tests of the file are over. */
export async function startSignInWorld(): Promise<SignInWorld> {
  const acme = await startLocalProvider()
  const emails: SignInWorld['emails'] = new Map()
  const plugins = await startEveryPlugin({
    acme,
    sendCode: async (email) => void (email.kind === 'email-code' && emails.set(email.to, email)),
  })
  return { acme, emails, plugins }
}

/** A server that users can sign in at by every method. */
export interface SignInServer
  extends Pick<TestAuth, 'handler' | 'database' | 'db'>,
    Omit<SignInWorld, 'plugins'> {
  readonly api: Pick<TestAuth['api'], 'createSession'>
  readonly clock: Pick<TestClock, 'now'>
  /** Creates a user with a verified email. */
  readonly createUser: () => Promise<MadeUser>
}

export async function openSignInServer(
  auth: Omit<SignInServer, 'createUser' | keyof SignInWorld>,
  { acme, emails }: SignInWorld,
): Promise<SignInServer> {
  const { handler, database, db, api, clock } = auth
  const insertUser = await createUserMaker(auth)
  async function createUser(): Promise<MadeUser> {
    const user = await insertUser()
    await db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
    return user
  }
  return { handler, database, db, api, clock, acme, emails, createUser }
}

/** A way to sign in. */
interface SignInMethod {
  readonly name: string
  /** What the session records. */
  readonly amr: readonly string[]
  /** Whether a second factor must follow if the account has one. */
  readonly needsFactor: boolean
  /** Prepares a user, and returns how they sign in once: the result is like `200` or `403 ACCOUNT_BANNED`. */
  prepare(user: MadeUser, server: SignInServer): Promise<(browser: Browser) => Promise<string>>
}

/** The provider signs in one person at a time. */
const atProvider = pLimit(1)

/** The ways of a user who exists. */
export const SIGN_IN_METHODS: readonly SignInMethod[] = [
  {
    name: 'a password',
    amr: ['pwd'],
    needsFactor: true,
    prepare: async (user) => async (browser) => (await browser.signIn(user.email)).status,
  },
  {
    name: 'a username',
    amr: ['pwd'],
    needsFactor: true,
    prepare: async (user, server) => {
      const username = user.userId.replaceAll('-', '').slice(0, 30)
      const call = await openSettings(user, server)
      await call('changeUsername', { username })
      return async (browser) => (await browser.signIn(username)).status
    },
  },
  {
    name: 'a provider',
    amr: ['oauth'],
    needsFactor: true,
    prepare: async (user, server) => {
      const { accountId: sub } = await insertOauthAccount(server, user.userId)
      return (browser) =>
        atProvider(async () => {
          server.acme.person = { sub, email: user.email, email_verified: true }
          const { page } = await browser.go('signInOauth')
          if (page === '/home') return '200'
          return `403 ${new URL(page, 'http://localhost').searchParams.get('error')}`
        })
    },
  },
  {
    name: "a code in an app's deep link",
    amr: ['oauth'],
    needsFactor: true,
    prepare: async (user, server) => {
      const { accountId: sub } = await insertOauthAccount(server, user.userId)
      const person = { sub, email: user.email, email_verified: true }
      // Within a minute after the user was created, the sign-in would be taken for the sign-up.
      const createdAt = new Date(server.clock.now().getTime() - 60_000)
      await server.db.updateTable('user').set({ createdAt }).where('id', '=', user.userId).execute()
      return (browser) => signInByDeepLink(browser, person, server)
    },
  },
  {
    name: 'a passkey',
    amr: ['passkey'],
    needsFactor: false,
    prepare: async (user, server) => {
      const authenticator = await addPasskey(user, server)
      return async (browser) => {
        const { body } = await browser.call('createPasskeySignInOptions')
        return (await browser.call('signInPasskey', { response: authenticator.get(body) })).status
      }
    },
  },
  fromEmail('a code from an email', ({ code }) => ({ code })),
  fromEmail('a link from an email', ({ token }) => ({ token })),
  {
    name: 'a password and a code of an app',
    amr: ['pwd', 'otp'],
    needsFactor: false,
    prepare: async (user, server) => {
      const { clock } = server
      const { secret } = await enableTotp(user, server)
      // This moment's code is used up, and the next one is accepted early.
      return (browser) => completeWith(totpCode(secret, { clock, inSeconds: 30 }), browser, user)
    },
  },
  {
    name: 'a password in a trusted browser',
    amr: ['pwd'],
    needsFactor: false,
    prepare: async (user, server) => {
      const trust = await trustBrowser(user, server)
      return async (browser) => {
        browser.cookie = browser.cookie === '' ? trust : `${browser.cookie}; ${trust}`
        return (await browser.signIn(user.email)).status
      }
    },
  },
  {
    name: 'a password and a passkey',
    amr: ['pwd', 'passkey'],
    needsFactor: false,
    prepare: async (user, server) => {
      const authenticator = await addPasskey(user, server)
      // A passkey alone doesn't make a second factor necessary.
      await enableTotp(user, server)
      return async (browser) => {
        const { status, body } = await browser.signIn(user.email)
        if (status !== '403 FACTOR_REQUIRED') return status
        const options = await browser.call('createPasskeySignInOptions')
        const response = authenticator.get(options.body)
        const { token: challenge } = body.challenge
        return (await browser.call('signInPasskey', { response, challenge })).status
      }
    },
  },
  {
    name: 'a password and a recovery code',
    amr: ['pwd', 'recovery'],
    needsFactor: false,
    prepare: async (user, server) => {
      const { recoveryCode } = await enableTotp(user, server)
      return (browser) => completeWith(recoveryCode, browser, user)
    },
  },
  {
    name: "the app's own code",
    amr: ['saml'],
    needsFactor: true,
    prepare: async (user, server) => (browser) => signInElsewhere(browser, user, server),
  },
]

/** Every way in which a session begins. */
export const SESSION_METHODS: readonly Omit<SignInMethod, 'needsFactor'>[] = [
  ...SIGN_IN_METHODS,
  {
    name: 'an anonymous sign-in',
    amr: [],
    // The user is another one.
    prepare: async () => async (browser) => (await browser.call('signInAnonymous')).status,
  },
  {
    name: 'a sign-up',
    amr: ['pwd'],
    prepare: async () => async (browser) => {
      const account = { name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: TEST_PASSWORD }
      return (await browser.call('signUpEmail', account)).status
    },
  },
  {
    name: 'a sign-up with a provider',
    amr: ['oauth'],
    prepare:
      async (_user, { acme }) =>
      (browser) =>
        atProvider(async () => {
          acme.person = newPerson()
          const { page } = await browser.go('signInOauth')
          return page === '/home' ? '200' : page
        }),
  },
]

/** A session of a new user. */
export interface NewSession {
  readonly userId: string
  readonly sessionId: string
  /** All cookies of the browser. */
  readonly cookie: string
}

/** Signs new users in, by every method in turn, in random order. */
export interface SignIns {
  /** Signs the next user in, and checks which methods the session records. */
  next(): Promise<NewSession>
  /** How many users signed in by each method. */
  readonly counts: Readonly<Record<string, number>>
}

export function createSignIns(server: SignInServer, random: Random): SignIns {
  const draw = createDeck(SESSION_METHODS, random)
  const counts: Record<string, number> = {}
  return {
    counts,
    async next() {
      const { name, amr, prepare } = draw()
      const signIn = await prepare(await server.createUser(), server)
      const browser = openBrowser(server)
      expect(await signIn(browser), name).toBe('200')
      const { body } = await browser.call('getSession')
      expect(body.session?.amr, name).toEqual(amr)
      counts[name] = (counts[name] ?? 0) + 1
      return { userId: body.user.id, sessionId: body.session.id, cookie: browser.cookie }
    },
  }
}

/** Expects that no method was left out, and that each signed in as many users as the others. */
export function expectEveryMethod({ counts }: SignIns): void {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const share = Math.floor(total / SESSION_METHODS.length)
  const tooFew = SESSION_METHODS.filter(({ name }) => (counts[name] ?? 0) < share)
  expect(tooFew.map(({ name }) => name)).toEqual([])
}

async function signInElsewhere(
  browser: Browser,
  { userId }: MadeUser,
  { api }: SignInServer,
): Promise<string> {
  const request = get('', { cookie: browser.cookie })
  try {
    const { headers } = await api.createSession({ userId, amr: ['saml'], request })
    browser.cookie = cookiesAfter(browser.cookie, new Response(null, { headers }))
    return '200'
  } catch (error) {
    return `403 ${Object(error).reason}`
  }
}

/** Returns what calls endpoints with a fresh session. */
async function openSettings(
  user: MadeUser,
  server: SignInServer,
): Promise<(...call: Parameters<Browser['call']>) => Promise<Reply['body']>> {
  const browser = openBrowser(server)
  await signInElsewhere(browser, user, server)
  return async (...call) => {
    const { status, body } = await browser.call(...call)
    expect(status, call[0]).toBe('200')
    return body
  }
}

async function enableTotp(
  user: MadeUser,
  server: SignInServer,
): Promise<{ secret: string; recoveryCode: string }> {
  const call = await openSettings(user, server)
  const { secret } = await call('enableTotp')
  const { recoveryCodes } = await call('confirmTotp', { code: totpCode(secret, server) })
  return { secret, recoveryCode: recoveryCodes[0] }
}

async function addPasskey(user: MadeUser, server: SignInServer): Promise<Authenticator> {
  const call = await openSettings(user, server)
  const authenticator = new Authenticator()
  const response = authenticator.create(await call('createPasskeyOptions'))
  await call('addPasskey', { response, name: 'Laptop' })
  return authenticator
}

/** Sets up an app, and returns the cookie of a browser that signs in without its codes. */
async function trustBrowser(user: MadeUser, server: SignInServer): Promise<string> {
  const { secret } = await enableTotp(user, server)
  const browser = openBrowser(server)
  const challenge = await insertChallenge(server, user.userId)
  const code = totpCode(secret, { clock: server.clock, inSeconds: 30 })
  expect((await browser.call('signInTotp', { challenge, code, trustDevice: true })).status).toBe('200')
  const [cookie = ''] = browser.cookie.split('; ').filter((pair) => pair.includes('device-trusted='))
  return cookie
}

/** Visits the provider in the system's browser, and sends the code of the deep link from the app. */
async function signInByDeepLink(browser: Browser, person: Claims, server: SignInServer): Promise<string> {
  const codeVerifier = randomPKCECodeVerifier()
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
  const link = await atProvider(async () => {
    server.acme.person = person
    const system = openBrowser(server)
    const visit = { provider: 'acme', redirectTo: APP_LINK, codeChallenge }
    const { body } = await browser.call('signInOauth', visit)
    return new URL((await system.open(await system.visit(body.url))).page)
  })
  const code = link.searchParams.get('code') ?? ''
  return (await browser.call('signInOauthCode', { code, codeVerifier })).status
}

async function completeWith(code: string, browser: Browser, { email }: MadeUser): Promise<string> {
  const { status, body } = await browser.signIn(email)
  if (status !== '403 FACTOR_REQUIRED') return status
  return (await browser.call('signInTotp', { challenge: body.challenge.token, code })).status
}

function fromEmail(name: string, proofOf: (email: CodeEmail) => object): SignInMethod {
  return {
    name,
    amr: ['email'],
    needsFactor: true,
    prepare: async (user, server) => async (browser) => {
      const proof = proofOf(await requestEmail(browser, user, server))
      return (await browser.call('signInEmailCode', proof)).status
    },
  }
}

async function requestEmail(
  browser: Browser,
  { email }: MadeUser,
  { emails }: SignInServer,
): Promise<CodeEmail> {
  await browser.call('requestEmailCode', { email })
  const received = () => emails.get(email) ?? Promise.reject(new Error('No email came'))
  return vi.waitFor(received, { interval: 2, timeout: 30_000 })
}
