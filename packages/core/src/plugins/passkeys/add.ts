import { type VerifiedRegistrationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import { base64url } from 'jose'
import * as z from 'zod/mini'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { type AuthorizedContext, defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { sendNotice } from '../email-user.ts'
import { countAttempt } from './attempts.ts'
import { readChallenge, useChallenge } from './challenges.ts'
import { passkeyName } from './own-passkeys.ts'
import { attestation, type PasskeyAttestation } from './responses.ts'
import { ALGORITHMS, MAX_PASSKEYS, passkeyError, relyingPartyOf, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

export interface AddPasskeyInput {
  /** The result of `startRegistration()`. */
  response: PasskeyAttestation
  /** The user's name for the passkey, such as `MacBook`. */
  name: string
  /** Ends the user's other sessions, which no passkey has proved. @default false */
  revokeOtherSessions?: boolean
}

/** Adds a passkey, and replaces this session's credentials. */
export function addPasskey(settings: Settings): Endpoint<AddPasskeyInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.addPasskey,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject({
      response: attestation,
      name: passkeyName,
      revokeOtherSessions: z.exactOptional(z.boolean()),
    }),
    output: tokens,
    async run({ response, name, revokeOtherSessions = false }, context) {
      await requireSecondFactor(context)
      const giveBack = await countAttempt(context, settings.limits)
      const credential = await verify(response, context, settings)
      await giveBack()
      const { userId } = context.identity
      const at = context.config.now()
      const work = async (trx: AuthTransaction, record: RecordEvent) => {
        await requireSecondFactor(context, trx)
        await insertPasskey({ ...credential, userId, name, createdAt: at }, trx)
        const detail = { passkeyId: credential.id, name }
        record({ type: 'passkeys:added', userId, actorId: null, at, detail })
      }
      const renewed = await renewSession(context, {
        cause: 'factor-added',
        methods: ['passkey'],
        revokeOthers: revokeOtherSessions && 'factor-changed',
        work,
      })
      sendNotice({ kind: 'passkey-added', passkey: { name } }, { userId, context, settings })
      return renewed
    },
  })
}

interface NewCredential {
  readonly id: string
  readonly publicKey: string
  readonly counter: number
  readonly transports: string
  readonly synced: boolean
}

/**
 * Verifies a registration (WebAuthn level 3, section 7.1), and uses up its challenge, valid or not.
 * @throws EndpointError `PASSKEY_INVALID` or `PASSKEY_TIMEOUT`
 */
async function verify(
  response: PasskeyAttestation,
  context: AuthorizedContext,
  settings: Settings,
): Promise<NewCredential> {
  const challenge = readChallenge(response.response.clientDataJSON)
  await context.change((trx) => useChallenge(trx, { challenge, purpose: 'add' }, context))
  const { id: expectedRPID, origins: expectedOrigin } = relyingPartyOf(context.config, settings)
  let verified: VerifiedRegistrationResponse
  try {
    verified = await verifyRegistrationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin,
      expectedRPID,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
  } catch (cause) {
    throw passkeyError('PASSKEY_INVALID', { cause })
  }
  if (!verified.verified) throw passkeyError('PASSKEY_INVALID')
  const { credential, credentialDeviceType } = verified.registrationInfo
  // The library doesn't compare them, and only the length of the one outside is limited.
  if (credential.id !== response.id) throw passkeyError('PASSKEY_INVALID')
  return {
    id: credential.id,
    publicKey: base64url.encode(credential.publicKey),
    counter: credential.counter,
    transports: JSON.stringify(response.response.transports ?? []),
    synced: credentialDeviceType === 'multiDevice',
  }
}

/**
 * Call it in a change, which has locked the user.
 * @throws EndpointError `TOO_MANY_PASSKEYS`, or `PASSKEY_INVALID` if a user already has it
 */
async function insertPasskey(
  passkey: NewCredential & { userId: string; name: string; createdAt: Date },
  trx: AuthTransaction,
): Promise<void> {
  const { userId } = passkey
  const rows = withOwnTables(trx)
  const own = await rows.selectFrom('passkeyCredential').select('id').where('userId', '=', userId).execute()
  if (own.length >= MAX_PASSKEYS) throw passkeyError('TOO_MANY_PASSKEYS')
  const insert = rows.insertInto('passkeyCredential').values({ ...passkey, lastUsedAt: null })
  const inserted = await insert.onConflict((conflict) => conflict.column('id').doNothing()).executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows !== 1n) throw passkeyError('PASSKEY_INVALID')
}
