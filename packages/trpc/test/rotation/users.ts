import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createSession, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'

/** A user with a session. */
export interface User {
  readonly userId: string
  readonly sessionId: string
  /** Value of the session cookie. */
  readonly sessionCookie: string
}

/** Creates the database with this many signed-in users. */
export async function createUsers(databasePath: string, count: number): Promise<User[]> {
  const database = await openSqlite(`file:${databasePath}`)
  const { publicJwks } = parseSigningKeys({ keys: [await createSigningKey()] })
  const config = defineAuthConfig({ baseUrl: 'http://localhost', jwks: staticJwks(publicJwks) })
  const now = new Date()
  const password = 'correct horse battery staple'
  const users = Array.from({ length: count }, async (_, i): Promise<User> => {
    const account = { name: 'Ada', email: `ada${i}@example.com`, password, now }
    const { userId } = await createPasswordAccount(database, account)
    const session = await createSession(database, { userId, config })
    return { userId, sessionId: session.id, sessionCookie: session.cookie }
  })
  const created = await Promise.all(users)
  await database.close()
  return created
}
