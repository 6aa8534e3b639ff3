import { Secret } from 'otpauth'
import type { AuthTransaction } from '../../database/session-database.ts'
import { hashSecret } from '../../session/secret.ts'
import { withOwnTables } from './tables.ts'

const CODES = 10

/** 120 bits, so a plain hash is enough (ASVS 5.0 6.5.2). */
const CODE_BYTES = 15

/** Replaces the recovery codes of a user. Only hashes are stored, so show the returned codes now. */
export async function replaceRecoveryCodes(
  trx: AuthTransaction,
  userId: string,
  now: Date,
): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => new Secret({ size: CODE_BYTES }).base32)
  const rows = await Promise.all(
    codes.map(async (code) => ({ id: await hashOf(userId, code), userId, createdAt: now })),
  )
  await deleteRecoveryCodes(trx, userId)
  await withOwnTables(trx).insertInto('recoveryCode').values(rows).execute()
  return codes.map((code) => (code.match(/.{4}/g) ?? []).join('-'))
}

/** Deletes a recovery code, and returns whether it was valid. */
export async function useRecoveryCode(trx: AuthTransaction, userId: string, code: string): Promise<boolean> {
  const id = await hashOf(userId, code)
  const statement = withOwnTables(trx).deleteFrom('recoveryCode').where('id', '=', id)
  return (await statement.executeTakeFirst()).numDeletedRows > 0n
}

export async function deleteRecoveryCodes(trx: AuthTransaction, userId: string): Promise<void> {
  await withOwnTables(trx).deleteFrom('recoveryCode').where('userId', '=', userId).execute()
}

function hashOf(userId: string, code: string): Promise<string> {
  return hashSecret(JSON.stringify([userId, code]))
}
