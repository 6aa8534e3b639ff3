import { base64url } from 'jose'
import * as z from 'zod/mini'
import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { createSecret } from '../../session/secret.ts'
import { countOptions } from './attempts.ts'
import { CHALLENGE_SECONDS, storeChallenge } from './challenges.ts'
import type { PasskeyCreationOptions, PasskeyDescriptor, PasskeyRequestOptions } from './option-schemas.ts'
import { ALGORITHMS, MAX_PASSKEYS, passkeyError, relyingPartyOf, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'
import { userHandleOf } from './user-handle.ts'

interface Created<Options> {
  readonly body: Options
  readonly cookies: string[]
}

const timeout = CHALLENGE_SECONDS * 1000

/** Returns options without a user, so every passkey of the app can respond. */
export async function createSignInOptions(
  context: EndpointContext,
  settings: Settings,
): Promise<Created<PasskeyRequestOptions>> {
  await countOptions(context, settings.limits)
  const { id: rpId } = relyingPartyOf(context.config, settings)
  const challenge = createSecret()
  const cookies = await storeChallenge({ challenge, purpose: 'sign-in' }, context)
  return { body: { challenge, rpId, timeout, userVerification: 'required' }, cookies }
}

/** @throws EndpointError `PASSKEY_NOT_FOUND` if the caller has no passkey */
export async function createReauthenticationOptions(
  context: AuthorizedContext,
  settings: Settings,
): Promise<Created<PasskeyRequestOptions>> {
  await countOptions(context, settings.limits)
  const { id: rpId } = relyingPartyOf(context.config, settings)
  const { userId } = context.identity
  // In a change, so a user who was deleted meanwhile isn't one without passkeys.
  const allowCredentials = await context.change((trx) => descriptorsOf(userId, trx))
  if (allowCredentials.length === 0) throw passkeyError('PASSKEY_NOT_FOUND')
  const challenge = createSecret()
  const cookies = await storeChallenge({ challenge, purpose: 'reauthenticate' }, context)
  return { body: { challenge, rpId, timeout, userVerification: 'required', allowCredentials }, cookies }
}

/** @throws EndpointError `TOO_MANY_PASSKEYS` */
export async function createCreationOptions(
  context: AuthorizedContext,
  settings: Settings,
): Promise<Created<PasskeyCreationOptions>> {
  await countOptions(context, settings.limits)
  const { id, name } = relyingPartyOf(context.config, settings)
  const { user } = context.session
  const excludeCredentials = await descriptorsOf(user.id, context.database.db)
  if (excludeCredentials.length >= MAX_PASSKEYS) throw passkeyError('TOO_MANY_PASSKEYS')
  const challenge = createSecret()
  const cookies = await storeChallenge({ challenge, purpose: 'add' }, context)
  const handle = base64url.encode(await userHandleOf(user.id))
  const body: PasskeyCreationOptions = {
    challenge,
    rp: { id, name },
    user: { id: handle, name: user.email, displayName: user.name },
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
