import * as z from 'zod/mini'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { noFields, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { createReauthenticationOptions } from './create-options.ts'
import { type PasskeyRequestOptions, requestOptions } from './option-schemas.ts'
import { provePasskey, requirePasskey } from './prove.ts'
import { assertion, type PasskeyAssertion } from './responses.ts'
import type { Settings } from './settings.ts'

/** Returns the options for `startAuthentication()` with one of the caller's passkeys. */
export function createPasskeyReauthenticationOptions(
  settings: Settings,
): Endpoint<object, PasskeyRequestOptions, true> {
  return defineEndpoint({
    ...ENDPOINTS.createPasskeyReauthenticationOptions,
    caller: 'user',
    setsCookies: true,
    input: noFields,
    output: requestOptions,
    run: (_input, context) => createReauthenticationOptions(context, settings),
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
