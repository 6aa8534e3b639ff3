import type { AuthDefinition } from '@sallyport/core/auth'
import type { TestAuth, TestClock } from '@sallyport/core/testing'
import { createTotpSecret, ownerOf } from '../../src/plugins/totp/prove.ts'
import { withOwnTables } from '../../src/plugins/totp/tables.ts'
import { createSecret, hashSecret } from '../../src/session/secret.ts'
import { totpCode } from './totp-code.ts'

export interface TotpAuth extends Pick<TestAuth, 'db' | 'clock'> {
  readonly definition: Pick<AuthDefinition, 'encryptionKeys'>
}

/** Gives users the same secret, confirmed or not. Returns a code that each can use once. */
export async function insertTotp(
  { db, clock, definition }: TotpAuth,
  userIds: readonly string[],
  { isConfirmed = true }: { isConfirmed?: boolean } = {},
): Promise<{ code: string }> {
  const secret = createTotpSecret()
  const now = clock.now()
  await withOwnTables(db).deleteFrom('totp').where('userId', 'in', userIds).execute()
  for (const userId of userIds) {
    const encrypted = (await definition.encryptionKeys?.encrypt(secret, ownerOf(userId))) ?? ''
    const row = {
      userId,
      secret: encrypted,
      confirmedAt: isConfirmed ? now : null,
      lastStep: 0,
      createdAt: now,
    }
    await withOwnTables(db).insertInto('totp').values(row).execute()
  }
  return { code: totpCode(secret, { clock }) }
}

/** Begins a sign-in that needs the code. */
export async function insertChallenge(
  { db, clock }: Pick<TestAuth, 'db'> & { readonly clock: Pick<TestClock, 'now'> },
  userId: string,
): Promise<string> {
  const token = createSecret()
  const expiresAt = new Date(clock.now().getTime() + 60_000)
  const row = {
    id: await hashSecret(token),
    userId,
    amr: '["pwd"]',
    acr: null,
    remembered: true,
    attempts: 0,
  }
  await db
    .insertInto('sallyport.challenge')
    .values({ ...row, expiresAt })
    .execute()
  return token
}
