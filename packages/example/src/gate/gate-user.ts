import { auth } from '../auth-server.ts'

/** Sign-up rejects this address, so no real user shares the account with everyone who tries the scenarios. */
const EMAIL = 'gate@localhost'

/** The id of the user whom the scenarios are played with: the gate's own, without a password, and neither banned nor an admin yet. */
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
