import { createAuth } from '@sallyport/core/auth'
import authDefinition from './auth.ts'
import { openOnPostgres } from './database.ts'
import { baseUrl } from './settings.ts'

/** Returns the results for a session on PostgreSQL, while it is valid and after its row was deleted. */
export async function answersOnPostgres(url: string): Promise<string[]> {
  const database = await openOnPostgres(url)
  const auth = await createAuth(authDefinition, database)
  const ask = (path: string, init: RequestInit) =>
    auth.handler(new Request(`${baseUrl}/api/auth${path}`, init))

  const signUp = await ask('/sign-up/email', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery staple', name: 'Ada' }),
  })
  const cookie = signUp.headers
    .getSetCookie()
    .map((setCookie) => setCookie.replace(/;.*/s, ''))
    .join('; ')
  const before = await ask('/session', { headers: { cookie } })
  await database.db.deleteFrom('session').execute()
  const after = await ask('/session', { headers: { cookie } })
  auth.close()
  await database.close()
  return [`${before.status}`, `${after.status} ${await after.text()}`]
}
