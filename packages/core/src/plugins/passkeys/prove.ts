import { verifyAuthenticationResponse } from '@simplewebauthn/server'
import { base64url } from 'jose'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { giveBackInOutage } from '../internal.ts'
import { countAttempt } from './attempts.ts'
import { type Purpose, readChallenge, useChallenge } from './challenges.ts'
import type { PasskeyAssertion } from './responses.ts'
import { passkeyError, relyingPartyOf, type Settings } from './settings.ts'
import { findPasskey, type Passkey, withOwnTables } from './tables.ts'
import { userHandleOf } from './user-handle.ts'

interface Proof {
  readonly assertion: PasskeyAssertion
  readonly purpose: Exclude<Purpose, 'add'>
  /** The user whose passkey it must be; null for any. */
  readonly userId: string | null
}

/**
 * Verifies the response of a passkey (WebAuthn level 3, section 7.2). Uses up its challenge, valid or not. An
 * unknown passkey and a wrong signature get the same response after the same work.
 * @throws EndpointError `PASSKEY_INVALID` or `PASSKEY_TIMEOUT`, AuthError `RATE_LIMITED`
 */
export async function provePasskey(
  { assertion, purpose, userId }: Proof,
  context: EndpointContext | AuthorizedContext,
  settings: Settings,
): Promise<Passkey> {
  const giveBack = await countAttempt(context, settings.limits)
  const challenge = readChallenge(assertion.response.clientDataJSON)
  const passkey = await findPasskey(context.database.db, assertion.id).catch(giveBackInOutage(giveBack))
  const verified = await verify(assertion, { challenge, purpose, passkey }, context, settings)
  const isExpected = passkey !== null && (userId ?? passkey.userId) === passkey.userId
  const isRight = isExpected && typeof verified === 'number'
  const at = context.config.now()
  const proved = await context
    .change(async (trx, record) => {
      await useChallenge(trx, { challenge, purpose }, context)
      if (isRight) {
        const use = { passkey, counter: verified, at }
        if (await acceptCounter(use, trx, record)) return passkey
      }
      const { address } = context
      const owner = passkey?.userId ?? null
      record({ type: 'sign-in.failed', at, userId: owner, reason: 'INVALID_CREDENTIALS', address })
      return null
    })
    .catch(giveBackInOutage(isRight ? giveBack : null))
  if (proved === null) throw passkeyError('PASSKEY_INVALID', { cause: verified })
  await giveBack()
  return proved
}

/** @throws EndpointError `PASSKEY_INVALID` if the passkey was removed since it was proved */
export async function requirePasskey(trx: AuthTransaction, { id, userId }: Passkey): Promise<void> {
  if ((await findPasskey(trx, id))?.userId !== userId) throw passkeyError('PASSKEY_INVALID')
}

/** Verified in place of an unknown passkey, for the same work. The result is ignored. */
const DECOY: Passkey = {
  id: 'decoy',
  userId: '',
  publicKey:
    'pQECAyYgASFYIGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWIlggT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
  synced: false,
}

/** Returns the authenticator's counter, or why the response isn't valid. */
async function verify(
  assertion: PasskeyAssertion,
  { challenge, purpose, passkey }: { challenge: string; purpose: Purpose; passkey: Passkey | null },
  { config }: EndpointContext,
  settings: Settings,
): Promise<number | Error> {
  const { id, userId, publicKey, synced } = passkey ?? DECOY
  const { id: expectedRPID, origins: expectedOrigin } = relyingPartyOf(config, settings)
  const { userHandle } = assertion.response
  // The passkey must name its user, unless a session already does.
  const isOwned =
    userHandle === undefined ? purpose === 'reauthenticate' : userHandle === (await userHandleOf(userId))
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin,
      expectedRPID,
      requireUserVerification: true,
      // With 0, the library skips the counter, which it would check before the signature and without a lock.
      credential: { id, publicKey: new Uint8Array(base64url.decode(publicKey)), counter: 0 },
    })
    if (!verified) return new Error('The signature is wrong')
    if (!isOwned) return new Error('The user handle is of another user')
    if ((authenticationInfo.credentialDeviceType === 'multiDevice') !== synced)
      return new Error('The flag for backup eligibility has changed')
    return authenticationInfo.newCounter
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Stores the counter. Returns false if it didn't increase, so there may be a copy of the authenticator. */
async function acceptCounter(
  { passkey: { id, userId }, counter, at }: { passkey: Passkey; counter: number; at: Date },
  trx: AuthTransaction,
  record: RecordEvent,
): Promise<boolean> {
  // The session's begin rejects a ban. This transaction must use up the challenge.
  await lockUsers(trx, [userId])
  const rows = withOwnTables(trx)
  const query = rows.selectFrom('passkeyCredential').select('counter').where('id', '=', id)
  const current = await query.where('userId', '=', userId).executeTakeFirst()
  if (current === undefined) return false
  const last = Number(current.counter)
  // Authenticators without a counter always send 0.
  if (counter <= last && !(counter === 0 && last === 0)) {
    const detail = { passkeyId: id, counter, last }
    record({ type: 'passkeys:counter-regressed', at, userId, actorId: null, detail })
    return false
  }
  const update = rows.updateTable('passkeyCredential').set({ counter, lastUsedAt: at })
  await update.where('id', '=', id).execute()
  return true
}
