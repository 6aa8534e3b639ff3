import type { TestAuth, TestClock } from '@sallyport/core/testing'
import { calculatePKCECodeChallenge } from 'openid-client'
import { withOwnTables } from '../../src/plugins/oauth/tables.ts'
import { createSecret, hashSecret } from '../../src/session/secret.ts'

type OauthAuth = Pick<TestAuth, 'db'> & { readonly clock: Pick<TestClock, 'now'> }

/** Links an account at the provider `acme` to a user. */
export async function insertOauthAccount(
  { db, clock }: OauthAuth,
  userId: string,
): Promise<{ accountId: string }> {
  const [id, now] = [crypto.randomUUID(), clock.now()]
  const row = { id, userId, accountId: id, providerId: 'acme', password: null }
  await db
    .insertInto('account')
    .values({ ...row, createdAt: now, updatedAt: now })
    .execute()
  return { accountId: id }
}

/** Inserts the code of an app's deep link, for a sign-in, or to re-authenticate a session. */
export async function insertOauthCode(
  auth: OauthAuth,
  userId: string,
  sessionId: string | null = null,
): Promise<{ code: string; codeVerifier: string }> {
  const { accountId } = await insertOauthAccount(auth, userId)
  const [code, codeVerifier] = [createSecret(), createSecret()]
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
  const expiresAt = new Date(auth.clock.now().getTime() + 60_000)
  const proof = { amr: '["oauth"]', acr: null, remembered: true, sessionId }
  await withOwnTables(auth.db)
    .insertInto('oauthCode')
    .values({ id: await hashSecret(code), accountId, codeChallenge, ...proof, expiresAt })
    .execute()
  return { code, codeVerifier }
}
