import type { PasskeyAssertion, PasskeyAttestation } from '@sallyport/core/plugins/passkeys'
import type { TestAuth } from '@sallyport/core/testing'
import { verifyRegistrationResponse } from '@simplewebauthn/server'
import { base64url } from 'jose'
import type { Purpose } from '../../src/plugins/passkeys/challenges.ts'
import { withOwnTables } from '../../src/plugins/passkeys/tables.ts'
import { userHandleOf } from '../../src/plugins/passkeys/user-handle.ts'
import { createSecret, hashSecret } from '../../src/session/secret.ts'
import { Authenticator } from '../plugins/passkeys/authenticator.ts'

type PasskeyAuth = Pick<TestAuth, 'db' | 'clock'>

/** The secret of the browser to which challenges are bound. A program with the session header has none. */
const BROWSER = 'browser'

/** The cookie with which a browser responds to a challenge. */
export const PASSKEY_COOKIE: string = `service.device-passkey=${BROWSER}`

/** Adds a passkey to a user. */
export async function insertPasskey(
  { db, clock }: PasskeyAuth,
  userId: string,
): Promise<{ id: string; authenticator: Authenticator }> {
  const authenticator = new Authenticator()
  const challenge = createSecret()
  const created = await register(authenticator, { challenge, userId })
  const { registrationInfo } = await verifyRegistrationResponse({
    response: { ...created, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: 'http://localhost:3000',
    expectedRPID: 'localhost',
  })
  if (registrationInfo === undefined) throw new TypeError('The authenticator is broken')
  const { id, publicKey, counter } = registrationInfo.credential
  const credential = { id, userId, publicKey: base64url.encode(publicKey), counter, transports: '[]' }
  const row = { ...credential, name: 'Laptop', synced: false, lastUsedAt: null, createdAt: clock.now() }
  await withOwnTables(db).insertInto('passkeyCredential').values(row).execute()
  return { id, authenticator }
}

interface Challenged {
  readonly purpose: Purpose
  /** The sessions that may respond; null is none. */
  readonly sessionIds: readonly (string | null)[]
}

/** Adds a passkey to a user, and returns its response to a challenge. */
export async function insertAssertion(
  auth: PasskeyAuth,
  { userId, ...challenged }: Challenged & { userId: string },
): Promise<{ response: PasskeyAssertion }> {
  const { authenticator } = await insertPasskey(auth, userId)
  const challenge = await insertChallenge(auth, challenged)
  return { response: authenticator.get({ challenge, rpId: 'localhost' }) }
}

/** Returns the response of a new passkey to a challenge. */
export async function insertAttestation(
  auth: PasskeyAuth,
  { userId, sessionIds }: Pick<Challenged, 'sessionIds'> & { userId: string },
): Promise<{ response: PasskeyAttestation }> {
  const challenge = await insertChallenge(auth, { purpose: 'add', sessionIds })
  return { response: await register(new Authenticator(), { challenge, userId }) }
}

async function register(
  authenticator: Authenticator,
  { challenge, userId }: { challenge: string; userId: string },
): Promise<PasskeyAttestation> {
  const user = { id: await userHandleOf(userId), name: '', displayName: '' }
  return authenticator.create({ challenge, rp: { id: 'localhost', name: 'Test' }, user })
}

async function insertChallenge(
  { db, clock }: PasskeyAuth,
  { purpose, sessionIds }: Challenged,
): Promise<string> {
  const challenge = createSecret()
  const expiresAt = new Date(clock.now().getTime() + 60_000)
  for (const sessionId of sessionIds)
    for (const browser of [BROWSER, '']) {
      const id = await hashSecret(JSON.stringify([purpose, sessionId, browser, challenge]))
      await withOwnTables(db).insertInto('passkeyChallenge').values({ id, expiresAt }).execute()
    }
  return challenge
}
