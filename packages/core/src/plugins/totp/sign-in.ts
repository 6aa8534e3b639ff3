import * as z from 'zod/mini'
import { orNone } from '../../endpoints/browser-memory.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { completeSignIn } from '../../endpoints/issue-tokens.ts'
import { oneTimeToken, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { attemptChallenge } from '../../endpoints/sign-in-challenge.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from './notices.ts'
import { code, proveCode, requireProvedApp } from './prove.ts'
import { trustedDevices } from './second-factor.ts'
import type { Settings } from './settings.ts'

export interface SignInTotpInput {
  /** The `token` of the `challenge` with which another sign-in was rejected. */
  challenge: string
  /** A code of the authenticator app, or a recovery code. */
  code: string
  /** Lets this browser sign in without a code for `trustedDeviceSeconds`. @default false */
  trustDevice?: boolean
}

/** Completes a sign-in that needs a second factor. */
export function signInTotp(settings: Settings): Endpoint<SignInTotpInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInTotp,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({ challenge: oneTimeToken, code, trustDevice: z.exactOptional(z.boolean()) }),
    output: tokens,
    async run({ challenge, code, trustDevice: isTrusted = false }, context) {
      const open = await attemptChallenge(challenge, context)
      const { userId } = open
      const { method } = await proveCode({ userId, code }, context, settings)
      const { body, cookies } = await completeSignIn(open, method, context)
      if (method === 'recovery') sendNotice('recovery-code-used', userId, { ...context, ...settings })
      const browser = { userId, sessionId: body.sessionId, seconds: settings.trustedDeviceSeconds }
      const trusted = isTrusted ? await orNone(trustedDevices.remember(browser, context), context) : []
      return { body, cookies: [...cookies, ...trusted] }
    },
  })
}

/** Proves the second factor in this session, and replaces its credentials. */
export function reauthenticateTotp(settings: Settings): Endpoint<{ code: string }, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticateTotp,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ code }),
    output: tokens,
    async run({ code }, context) {
      await requireSessionSecret(context)
      const { userId } = context.identity
      const proved = await proveCode({ userId, code }, context, settings)
      const { method } = proved
      const renewed = await renewSession(context, {
        cause: 'reauthenticated',
        methods: [method],
        work: (trx) => requireProvedApp(trx, proved),
      })
      if (method === 'recovery') sendNotice('recovery-code-used', userId, { ...context, ...settings })
      return renewed
    },
  })
}
