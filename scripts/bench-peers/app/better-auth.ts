import { createHmac } from 'node:crypto'
import { betterAuth } from 'better-auth'
import { admin } from 'better-auth/plugins'
import { fromHeaders } from './from-headers.ts'
import { openDatabase } from './open-database.ts'
import { BASE_URL, type Peer, type PeerModule, type Seeder } from './peer.ts'

const SECRET = 'a-secret-of-at-least-32-characters-for-the-bench'

export const { open, seed } = betterAuthPeer({ enabled: false })

/** Better Auth with the joins that its performance guide recommends, and with or without the cookie cache. */
export function betterAuthPeer(cookieCache: { enabled: boolean; maxAge?: number }): Required<PeerModule> {
  const optionsOf = async (url: string) => {
    const database = await openDatabase(url)
    return {
      baseURL: BASE_URL,
      secret: SECRET,
      database: 'pool' in database ? database.pool : database.sqlite,
      emailAndPassword: { enabled: true },
      session: { cookieCache },
      advanced: { database: { joins: true } },
      plugins: [admin()],
    }
  }

  async function open(url: string): Promise<Peer> {
    const auth = betterAuth(await optionsOf(url))
    return fromHeaders({
      getSession: (headers) => auth.api.getSession({ headers }),
      respondToAuth: auth.handler,
    })
  }

  async function seed(url: string): Promise<Seeder> {
    const options = await optionsOf(url)
    const { getMigrations } = await import('better-auth/db/migration')
    await (await getMigrations(options)).runMigrations()
    const auth = betterAuth(options)
    const { authCookies, internalAdapter } = await auth.$context

    async function signUp(name: string): Promise<string> {
      const body = { name, email: `${name}@example.com`, password: 'a long password' }
      const { user } = await auth.api.signUpEmail({ body })
      return user.id
    }

    async function signIn(userId: string): Promise<string> {
      const { token } = await internalAdapter.createSession(userId)
      const signature = createHmac('sha256', SECRET).update(token).digest('base64')
      const cookie = `${authCookies.sessionToken.name}=${encodeURIComponent(`${token}.${signature}`)}`
      const response = await auth.api.getSession({ headers: new Headers({ cookie }), asResponse: true })
      const cached = response.headers.getSetCookie().map((each) => each.split(';')[0])
      return [cookie, ...cached.filter((each) => !each?.startsWith(authCookies.sessionToken.name))].join('; ')
    }

    return {
      signUp,
      signIn,
      async revoke(cookie) {
        await auth.api.revokeSessions({ headers: new Headers({ cookie }) })
      },
      async ban(userId) {
        const adminId = await signUp('admin')
        await internalAdapter.updateUser(adminId, { role: 'admin' })
        const headers = new Headers({ cookie: await signIn(adminId) })
        await auth.api.banUser({ body: { userId }, headers })
      },
    }
  }

  return { open, seed }
}
