import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession, completeSignIn } from '../../endpoints/issue-tokens.ts'
import { oneTimeToken, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { attemptChallenge } from '../../endpoints/sign-in-challenge.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { provePasskey, requirePasskey } from './prove.ts'
import { assertion, type PasskeyAssertion } from './responses.ts'
import type { Settings } from './settings.ts'

export interface SignInPasskeyInput {
  /** The result of `startAuthentication()`. */
  response: PasskeyAssertion
  /** The `token` of the `challenge` with which another sign-in was rejected. @default none: a new sign-in */
  challenge?: string
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  rememberMe?: boolean
}

/** Signs in, or completes a sign-in that needs a second factor. */
export function signInPasskey(settings: Settings): Endpoint<SignInPasskeyInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInPasskey,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      response: assertion,
      challenge: z.exactOptional(oneTimeToken),
      rememberMe: z.exactOptional(z.boolean()),
    }),
    output: tokens,
    async run({ response, challenge, rememberMe }, context) {
      const first = challenge === undefined ? null : await attemptChallenge(challenge, context)
      const proof = { assertion: response, purpose: 'sign-in', userId: first?.userId ?? null } as const
      const passkey = await provePasskey(proof, context, settings)
      const authorize = (trx: AuthTransaction) => requirePasskey(trx, passkey)
      if (first !== null) return completeSignIn({ ...first, authorize }, 'passkey', context)
      return beginSession(passkey.userId, context, { amr: ['passkey'], rememberMe, authorize })
    },
  })
}

export interface ReauthenticatePasskeyInput {
  /** The result of `startAuthentication()`. */
  response: PasskeyAssertion
}

/** Makes a session fresh, and replaces its credentials. */
export function reauthenticatePasskey(
  settings: Settings,
): Endpoint<ReauthenticatePasskeyInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticatePasskey,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ response: assertion }),
    output: tokens,
    async run({ response }, context) {
      const { userId } = context.identity
      const proof = { assertion: response, purpose: 'reauthenticate', userId } as const
      const passkey = await provePasskey(proof, context, settings)
      return renewSession(context, {
        cause: 'reauthenticated',
        methods: ['passkey'],
        work: (trx) => requirePasskey(trx, passkey),
      })
    },
  })
}
