import * as z from 'zod/mini'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { ENDPOINTS } from '../../protocol.ts'
import { findUser } from '../email-user.ts'
import { emailAddress, giveBackInOutage } from '../internal.ts'
import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'
import { countAddress, countEmail } from './attempts.ts'
import { groupCode } from './code.ts'
import { bindingCookie, createPendingCode, insertPendingCode, LIFETIME_SECONDS } from './pending-code.ts'
import type { Settings } from './settings.ts'

/** Browsers that have signed in. */
export const signedInBrowsers: KnownBrowsers = knownBrowsers({ table: 'emailCodeBrowser', suffix: '-email' })

export interface EmailCodeResponse {
  success: true
  /** Seconds until the code and the link expire. */
  expiresIn: number
  /** Send it with the code. Only if the request had the session header: a browser has a cookie. */
  requestToken?: string
}

/**
 * Sends a code and a link, and binds them to this browser. With and without an account, the response is the
 * same after the same work.
 */
export function requestEmailCode(settings: Settings): Endpoint<{ email: string }, EmailCodeResponse, true> {
  const { limits, sendEmail, signUp } = settings
  return defineEndpoint({
    ...ENDPOINTS.requestEmailCode,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({ email: emailAddress }),
    output: z.object({
      success: z.literal(true),
      expiresIn: z.number(),
      requestToken: z.exactOptional(z.string()),
    }),
    async run({ email }, context) {
      const { database, config, sessionTransport } = context
      const user = (await findUser(database.db, { email })) ?? null
      const browser = await signedInBrowsers.find(user?.id ?? null, context)
      if (browser === null) await countAddress(context, limits)
      const giveBack = await countEmail({ email, browser }, context, limits)
      const isSent = giveBack !== null
      // Otherwise, a known browser could fill the tables.
      if (browser !== null && !isSent) await countAddress(context, limits)
      const now = config.now()
      const pending = createPendingCode(now)
      const hasCode = isSent && (user !== null || signUp)
      await context
        .change(async (trx, record) => {
          const request = { email, isSent: hasCode, isCounted: browser === null }
          await insertPendingCode(trx, { ...pending, ...request })
          record({ type: 'email-code:requested', userId: user?.id ?? null, actorId: null, at: now })
        })
        .catch(giveBackInOutage(giveBack))
      const { secret, token, expiresAt } = pending
      const code = groupCode(pending.code)
      if (isSent)
        context.later(() =>
          sendEmail(
            hasCode
              ? { kind: 'email-code', to: email, user, code, token, expiresAt }
              : { kind: 'no-account', to: email },
          ),
        )
      return {
        body: {
          success: true,
          expiresIn: LIFETIME_SECONDS,
          ...(sessionTransport === 'header' && { requestToken: secret }),
        },
        cookies: [bindingCookie(secret, context)],
      }
    },
  })
}
