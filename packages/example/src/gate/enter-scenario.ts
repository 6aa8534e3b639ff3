import { banUser, issueJwt, parseSigningKeys, revokeSession } from '@sallyport/core/auth'
import { generateCookie } from 'hono/cookie'
import { authConfig } from '../auth.config.ts'
import { auth } from '../auth-server.ts'
import { env } from '../env.ts'
import { keyFile } from '../keys/key-file.ts'
import type { CookieJar } from './cookie-jar.ts'
import type { ScenarioName } from './scenarios.ts'

/** A browser that has just signed in. */
export interface SignedIn {
  readonly userId: string
  readonly sessionId: string
  readonly jar: CookieJar
}

type Step = (browser: SignedIn) => Promise<unknown>

const STEPS: Readonly<Record<ScenarioName, Step>> = {
  normal: async () => {},
  'signed-out': signOut,
  revoked: ({ sessionId }) => revokeSession(sessionId, auth.database, { cause: 'revoked-by-admin' }),
  'jwt-expired': expireJwt,
  'both-expired': (browser) => Promise.all([expireJwt(browser), expireSession(browser)]),
  'session-expired': expireSession,
  banned: ({ userId }) =>
    banUser(userId, auth.database, { now: new Date(), reason: 'A scenario of the gate' }),
}

/** Puts a browser that has just signed in, and its session, into a state of the matrix. */
export async function enterScenario(name: ScenarioName, browser: SignedIn): Promise<void> {
  await STEPS[name](browser)
}

async function signOut({ jar }: SignedIn): Promise<void> {
  await jar.fetch(`${authConfig.baseUrl}/api/auth/sign-out`, {
    method: 'POST',
    headers: { 'x-sallyport': '1' },
  })
}

/** Sets a JWT that expired a minute ago, in a valid cookie: browsers drop expired cookies. */
async function expireJwt({ jar, sessionId: id, userId }: SignedIn): Promise<void> {
  const keys =
    env.SIGNING_KEYS === undefined
      ? (await keyFile(env.KEY_FILE)).signingKeys
      : parseSigningKeys(env.SIGNING_KEYS)
  const now = new Date(Date.now() - (authConfig.jwtLifetimeSeconds + 60) * 1_000)
  const session = { id, userId, expiresAt: new Date() }
  const { token } = await issueJwt(session, { key: keys.active, config: authConfig, now })
  const { cookies, secure } = authConfig
  jar.take([
    generateCookie(cookies.jwt, token, {
      path: '/',
      httpOnly: true,
      sameSite: 'Lax',
      secure,
      maxAge: 24 * 60 * 60,
    }),
  ])
}

async function expireSession({ sessionId }: SignedIn): Promise<void> {
  await auth.database.db
    .updateTable('session')
    .set({ expiresAt: new Date() })
    .where('id', '=', sessionId)
    .execute()
}
