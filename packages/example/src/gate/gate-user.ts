import { randomBytes } from 'node:crypto'
import { createPasswordAccount } from '@sallyport/core/plugins'
import { auth } from '../auth-server.ts'

const EMAIL = 'gate@example.com'

/** The id of the user whom the scenarios are played with: the gate's own, whose password nobody knows, and who is not banned yet. */
export async function findGateUser(): Promise<string> {
  const { db } = auth.database
  const found = await db.selectFrom('user').select('id').where('email', '=', EMAIL).executeTakeFirst()
  if (found !== undefined) {
    const ban = { banned: false, banReason: null, banExpires: null }
    await db.updateTable('user').set(ban).where('id', '=', found.id).execute()
    return found.id
  }
  const user = { name: 'Gate', email: EMAIL, password: randomBytes(24).toString('base64url') }
  const { userId } = await createPasswordAccount(auth.database, { ...user, now: new Date() })
  return userId
}
