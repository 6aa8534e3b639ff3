import { Auth, type AuthConfig } from '@auth/core'
import type { Adapter } from '@auth/core/adapters'
import github from '@auth/core/providers/github'
import { DrizzleAdapter } from '@auth/drizzle-adapter'
import { fromHeaders } from './from-headers.ts'
import { openDatabase } from './open-database.ts'
import { BASE_URL, type Peer, type Seeder } from './peer.ts'

const COOKIE = 'authjs.session-token'

/** Database sessions with the adapter for Drizzle, read as `getSession` of @auth/express does. */
export async function open(url: string): Promise<Peer> {
  const { adapter } = await openAdapter(url)
  const config: AuthConfig = {
    adapter,
    session: { strategy: 'database' },
    basePath: '/api/auth',
    secret: 'a-secret-of-at-least-32-characters-for-the-bench',
    trustHost: true,
    providers: [github({ clientId: 'bench', clientSecret: 'bench' })],
  }
  return fromHeaders({
    async getSession(headers) {
      const cookie = headers.get('cookie') ?? ''
      const request = new Request(`${BASE_URL}/api/auth/session`, { headers: { cookie } })
      const response = await Auth(request, config)
      if (!response.ok) throw new Error(`The session couldn't be read: ${response.status}`)
      return response.json()
    },
    respondToAuth: (request) => Auth(request, config),
  })
}

export async function seed(url: string): Promise<Seeder> {
  const { adapter, execute } = await openAdapter(url)
  const time = url.startsWith('postgres:') ? 'timestamp' : 'integer'
  await execute(
    `create table "user" (id text primary key, name text, email text unique, "emailVerified" ${time}, image text)`,
  )
  await execute(
    `create table "session" ("sessionToken" text primary key,
      "userId" text not null references "user" (id) on delete cascade, expires ${time} not null)`,
  )
  return {
    async signUp(name) {
      const user = { id: crypto.randomUUID(), name, email: `${name}@example.com`, emailVerified: null }
      return (await adapter.createUser?.(user))?.id ?? ''
    },
    async signIn(userId) {
      const sessionToken = crypto.randomUUID()
      await adapter.createSession?.({
        sessionToken,
        userId,
        expires: new Date(Date.now() + 30 * 86_400_000),
      })
      return `${COOKIE}=${sessionToken}`
    },
    async revoke(cookie) {
      await adapter.deleteSession?.(cookie.replace(`${COOKIE}=`, ''))
    },
  }
}

async function openAdapter(
  url: string,
): Promise<{ adapter: Adapter; execute(sql: string): Promise<unknown> }> {
  const database = await openDatabase(url)
  if ('pool' in database) {
    const { drizzle } = await import('drizzle-orm/node-postgres')
    const { pool } = database
    return { adapter: DrizzleAdapter(drizzle(pool)), execute: (sql) => pool.query(sql) }
  }
  const { drizzle } = await import('drizzle-orm/better-sqlite3')
  const { sqlite } = database
  return { adapter: DrizzleAdapter(drizzle(sqlite)), execute: async (sql) => sqlite.exec(sql) }
}
