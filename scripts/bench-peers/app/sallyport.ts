import { defineAuthConfig, staticJwks } from '@sallyport/core'
import {
  banUser,
  createAuth,
  createSession,
  defineAuth,
  issueJwt,
  parseSigningKeys,
  revokeSession,
} from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  createHandler,
  type HttpContextOptions,
  sessionMiddleware,
  type WsContextOptions,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { BASE_URL, GREETING, type Peer, type Seeder } from './peer.ts'

const config = defineAuthConfig({ baseUrl: BASE_URL, jwks: staticJwks(process.env.JWKS) })
const signingKeys = parseSigningKeys(process.env.SIGNING_KEYS)
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword(), admin()] })

async function openStore(url: string) {
  if (url.startsWith('postgres:')) return (await import('@sallyport/core/postgres')).openPostgres(url)
  return (await import('@sallyport/core/sqlite')).openSqlite(url)
}

/** The setup of the quick start. */
export async function open(url: string): Promise<Peer> {
  const database = await openStore(url)
  const auth = await createAuth(definition, database)
  const { db } = database
  const context = createAuthContext(config, { db })
  const httpContext = (options: HttpContextOptions) => ({ ...context.http(options), db })
  const wsContext = (options: WsContextOptions) => ({ ...context.ws(options), db })
  const t = initTRPC.context<ReturnType<typeof httpContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  const guarded = t.procedure.use(sessionMiddleware)
  const query = guarded.query(() => GREETING)
  const router = t.router({ guarded: query, checked: query, write: guarded.mutation(() => GREETING) })
  // A socket of this benchmark sends more than the default allows.
  const limits = { framesPer100Ms: 1_000_000 }
  return {
    respond: createHandler({ auth, config, router, createContext: httpContext }),
    acceptSockets(server) {
      const wss = new WebSocketServer({ server, ...webSocketOptions(config, limits) })
      applyWSSHandler({ wss, router, createContext: wsContext, ...authHandlerOptions })
    },
  }
}

export async function seed(url: string): Promise<Seeder> {
  const database = await openStore(url)
  const auth = await createAuth(definition, database)
  return {
    async signUp(name) {
      const headers = { 'x-sallyport': '1', 'content-type': 'application/json' }
      const body = JSON.stringify({ name, email: `${name}@example.com`, password: 'a long password' })
      const request = new Request(`${BASE_URL}/api/auth/sign-up/email`, { method: 'POST', headers, body })
      const response = await auth.handler(request, { remoteAddress: '127.0.0.1' })
      const { userId } = await response.json()
      return userId
    },
    async signIn(userId) {
      const session = await createSession(auth.database, { userId, config })
      const { token } = await issueJwt(session, { key: signingKeys.active, config, now: new Date() })
      return `${config.cookies.jwt}=${token}; ${config.cookies.session}=${session.cookie}`
    },
    async revoke(cookie) {
      const id = cookie.split(`${config.cookies.session}=`)[1]?.split('.')[0] ?? ''
      await revokeSession(id, auth.database)
    },
    async ban(userId) {
      await banUser(userId, auth.database, { now: new Date() })
    },
  }
}
