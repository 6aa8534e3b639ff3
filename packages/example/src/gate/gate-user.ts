import { auth } from '../auth-server.ts'

/** Nobody can sign up with it: whoever had the address would share the account with all who play. */
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
