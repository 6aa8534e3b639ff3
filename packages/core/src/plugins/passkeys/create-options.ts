import * as z from 'zod/mini'
import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { noFields } from '../../endpoints/plain-schemas.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { ENDPOINTS } from '../../protocol.ts'
import { countOptions } from './attempts.ts'
import { CHALLENGE_SECONDS, createChallenge } from './challenges.ts'
import {
  creationOptions,
  type PasskeyCreationOptions,
  type PasskeyDescriptor,
  type PasskeyRequestOptions,
  requestOptions,
} from './option-schemas.ts'
import { ALGORITHMS, MAX_PASSKEYS, passkeyError, relyingPartyOf, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { userHandleOf } from './user-handle.ts'

const timeout = CHALLENGE_SECONDS * 1000

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
    async run(_input, context) {
      await countOptions(context, settings.limits)
      const { id: rpId } = relyingPartyOf(context.config, settings)
      const { challenge, cookies } = await createChallenge('sign-in', context)
      return { body: { challenge, rpId, timeout, userVerification: 'required' }, cookies }
    },
  })
}

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
    async run(_input, context) {
      await countOptions(context, settings.limits)
      const { id: rpId } = relyingPartyOf(context.config, settings)
      const { userId } = context.identity
      // In a change, so a user who was deleted meanwhile isn't one without passkeys.
      const allowCredentials = await context.change((trx) => descriptorsOf(userId, trx))
      if (allowCredentials.length === 0) throw passkeyError('PASSKEY_NOT_FOUND')
      const { challenge, cookies } = await createChallenge('reauthenticate', context)
      return { body: { challenge, rpId, timeout, userVerification: 'required', allowCredentials }, cookies }
    },
  })
}

/** Returns the options for `startRegistration()`. */
export function createPasskeyOptions(settings: Settings): Endpoint<object, PasskeyCreationOptions, true> {
  return defineEndpoint({
    ...ENDPOINTS.createPasskeyOptions,
    caller: 'fresh-user',
    setsCookies: true,
    input: noFields,
    output: creationOptions,
    async run(_input, context) {
      await requireSecondFactor(context)
      await countOptions(context, settings.limits)
      const { id, name } = relyingPartyOf(context.config, settings)
      const { user } = context.session
      const excludeCredentials = await descriptorsOf(user.id, context.database.db)
      if (excludeCredentials.length >= MAX_PASSKEYS) throw passkeyError('TOO_MANY_PASSKEYS')
      const { challenge, cookies } = await createChallenge('add', context)
      const body: PasskeyCreationOptions = {
        challenge,
        rp: { id, name },
        user: { id: await userHandleOf(user.id), name: user.email, displayName: user.name },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' })),
        timeout,
        excludeCredentials,
        // Sign-in without a username needs a discoverable passkey.
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
        attestation: 'none',
      }
      return { body, cookies }
    },
  })
}

const transportNames = z.array(z.string())

async function descriptorsOf(userId: string, db: AuthKysely): Promise<PasskeyDescriptor[]> {
  const query = withOwnTables(db).selectFrom('passkeyCredential').select(['id', 'transports'])
  const found = await query.where('userId', '=', userId).execute()
  return found.map(({ id, transports }) => ({
    id,
    type: 'public-key',
    transports: z.parse(transportNames, JSON.parse(transports)),
  }))
}
