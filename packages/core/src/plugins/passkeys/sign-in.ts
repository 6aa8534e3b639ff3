import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { beginSession, completeSignIn } from '../../endpoints/issue-tokens.ts'
import { noFields, oneTimeToken, tokens } from '../../endpoints/plain-schemas.ts'
import { attemptChallenge } from '../../endpoints/sign-in-challenge.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { createSignInOptions } from './create-options.ts'
import { type PasskeyRequestOptions, requestOptions } from './option-schemas.ts'
import { provePasskey, requirePasskey } from './prove.ts'
import { assertion, type PasskeyAssertion } from './responses.ts'
import type { Settings } from './settings.ts'

/** Returns the options for `startAuthentication()`. They name no user, so every passkey of the app fits. */
export function createPasskeySignInOptions(
  settings: Settings,
): Endpoint<object, PasskeyRequestOptions, true> {
  return defineEndpoint({
    ...ENDPOINTS.createPasskeySignInOptions,
    caller: 'anyone',
    setsCookies: true,
    input: noFields,
    output: requestOptions,
    run: (_input, context) => createSignInOptions(context, settings),
  })
}

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
