import { checkOrigin, isAuthError } from '@sallyport/core'
import type { Handler } from 'hono'
import { authConfig } from '../auth.config.ts'
import { auth } from '../auth-server.ts'
import { db } from '../database.ts'
import { remoteAddress } from '../remote-address.ts'
import { type Call, callMe, type KnownUser } from './call-me.ts'
import { createCookieJar } from './cookie-jar.ts'
import { enterScenario } from './enter-scenario.ts'
import { findGateUser } from './gate-user.ts'
import { type Look, look } from './look.ts'
import { SCENARIOS } from './scenarios.ts'

/** What a browser has met in a scenario. */
export interface Played {
  /** Who is signed in, as far as a browser in this state knows. */
  readonly user: KnownUser
  /** The state that it is in now. */
  readonly look: Look
  /** What a call was answered, made by the client of the app with the cookies of this state. */
  readonly call: Call
}

/**
 * For development alone: signs the browser in as the gate's own user, puts it into a state of the matrix, and calls `me` in its name. The
 * browser keeps the state: what the call may have refreshed or cleared is for the browser to find out.
 *
 * @param serve answers a request of the browser
 */
export const playScenario =
  (serve: (request: Request, env: unknown) => Response | Promise<Response>): Handler =>
  async (c) => {
    const scenario = SCENARIOS.find(({ name }) => name === c.req.param('name'))
    if (scenario === undefined) return c.notFound()
    try {
      // It changes who is signed in: no other site may have it done.
      checkOrigin({ method: 'POST', header: (name) => c.req.header(name) ?? null }, 'mutation', authConfig)
      const request = c.req.raw
      const { userId, sessionId, headers } = await auth.api.createSession({
        userId: await findGateUser(),
        request,
        remoteAddress: remoteAddress(c),
      })
      const jar = createCookieJar((sent) => serve(sent, c.env))
      jar.take(headers.getSetCookie())
      await enterScenario(scenario.name, { userId, sessionId, jar })

      const setCookies = jar.setCookies()
      const seen = await look(jar.header(), { config: authConfig, db })
      const user = scenario.name === 'signed-out' ? null : { userId, sessionId }
      const call = await callMe(authConfig.baseUrl, user, jar.fetch)
      const played: Played = { user, look: seen, call }
      for (const setCookie of setCookies) c.header('set-cookie', setCookie, { append: true })
      return c.json(played)
    } catch (error) {
      if (!isAuthError(error)) throw error
      return Response.json({ code: error.reason, message: error.message }, { status: error.status })
    }
  }
