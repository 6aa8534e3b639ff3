import type { TestAuth } from '@sallyport/core/testing'
import { insertPendingCode } from '../../src/plugins/email-code/pending-code.ts'
import { withOwnTables } from '../../src/plugins/email-code/tables.ts'
import { createSecret, hashSecret } from '../../src/session/secret.ts'

/** The secret of the browser that has requested every code. */
const SECRET = 'browser'

/** The cookie of that browser. */
export const EMAIL_CODE_COOKIE: string = `service.device-email-code=${SECRET}`

/** Inserts a code as if it was just sent. Returns the input of a browser, or of a program, that has it. */
export async function insertEmailCode(
  { db, clock }: Pick<TestAuth, 'db' | 'clock'>,
  email: string,
): Promise<{ code: string; requestToken: string }> {
  const code = 'BCDFGHJK'
  const expiresAt = new Date(clock.now().getTime() + 60_000)
  const request = { email, isSent: true, isCounted: true }
  const pending = { secret: SECRET, code, token: createSecret(), expiresAt, ...request }
  await db.transaction().execute(async (trx) => {
    const former = withOwnTables(trx).deleteFrom('emailCode')
    await former.where('id', '=', await hashSecret(SECRET)).execute()
    await insertPendingCode(trx, pending)
  })
  return { code, requestToken: SECRET }
}
