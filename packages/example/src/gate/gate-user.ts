import { auth } from '../auth-server.ts'

/** Sign-up rejects this address, so no real user can have the account of the scenarios. */
const EMAIL = 'gate@localhost'

/** Returns the id of the gate's user, without a password, a ban, or the role `admin`. */
export async function findGateUser(): Promise<string> {
  const now = new Date()
  const asAtFirst = { role: 'user', banned: false, banReason: null, banExpires: null }
  const { id } = await auth.database.db
    .insertInto('user')
    .values({
      id: crypto.randomUUID(),
      name: 'Gate',
      email: EMAIL,
      emailVerified: false,
      image: null,
      createdAt: now,
      updatedAt: now,
      ...asAtFirst,
    })
    .onConflict((conflict) => conflict.column('email').doUpdateSet(asAtFirst))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
