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
import { type CookieInspection, inspectCookies } from './inspect-cookies.ts'
import { SCENARIOS } from './scenarios.ts'

/** The result of a scenario. */
export interface ScenarioRun {
  /** The user that a browser in this state knows. */
  readonly user: KnownUser
  /** The state of the browser before the call. */
  readonly inspection: CookieInspection
  /** A call by the client of the app with the cookies of this state. */
  readonly call: Call
}

/**
 * Signs the browser in as the gate's user, puts it into a state of the matrix, and calls `me` with its
 * cookies. Only for development. The browser itself stays in the state before the call.
 *
 * @param serve responds to a request of the browser
 */
export const runScenario =
  (serve: (request: Request, env: unknown) => Response | Promise<Response>): Handler =>
  async (c) => {
    const scenario = SCENARIOS.find(({ name }) => name === c.req.param('name'))
    if (scenario === undefined) return c.notFound()
    try {
      // The request changes the user, so other sites must not send it.
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
      const inspection = await inspectCookies(jar.header(), { config: authConfig, db })
      const user = scenario.name === 'signed-out' ? null : { userId, sessionId }
      const call = await callMe(authConfig.baseUrl, user, jar.fetch)
      const run: ScenarioRun = { user, inspection, call }
      for (const setCookie of setCookies) c.header('set-cookie', setCookie, { append: true })
      return c.json(run)
    } catch (error) {
      if (!isAuthError(error)) throw error
      return Response.json({ code: error.reason, message: error.message }, { status: error.status })
    }
  }
