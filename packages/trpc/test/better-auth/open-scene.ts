import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { requireRole, sessionMiddleware, type WsContextOptions, webSocketOptions } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { createTRPCClient, createWSClient, httpSubscriptionLink, wsLink } from '@trpc/client'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import type { BetterAuthOptions } from 'better-auth'
import { admin, organization } from 'better-auth/plugins'
import { EventSource } from 'eventsource'
import { WebSocket, WebSocketServer } from 'ws'
import { KEEP_ALIVE } from '../support/keep-alive.ts'
import { openStream, type Stream } from '../support/stream.ts'
import { cookieOf, createAuth, createTrpc, ORIGIN, PASSWORD } from './create-auth.ts'

/** Opens an app whose users sign in with Better Auth, and that streams over both transports. */
export async function openScene(more: Pick<BetterAuthOptions, 'secondaryStorage' | 'session'> = {}) {
  const user = { deleteUser: { enabled: true } }
  const { auth, database } = await createAuth({ ...more, user, plugins: [admin(), organization()] })
  const guard = betterAuthGuard(auth)
  const db = guard.attach(database)
  const { t, createContext } = createTrpc(guard, database)
  const protectedProcedure = t.procedure.use(sessionMiddleware)
  async function* silence(signal: AbortSignal) {
    yield 'open'
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }
  const router = t.router({
    me: protectedProcedure.query(({ ctx }) => ctx.user.email),
    ownAccount: protectedProcedure.use(guard.forbidImpersonation).query(() => 'own'),
    stream: protectedProcedure.subscription(({ ctx }) => silence(ctx.auth.signal)),
    adminStream: protectedProcedure
      .use(requireRole('admin'))
      .subscription(({ ctx }) => silence(ctx.auth.signal)),
  })
  const server = createServer(KEEP_ALIVE, createHTTPHandler({ router, createContext, basePath: '/trpc/' }))
  const wss = new WebSocketServer({ server, ...webSocketOptions(guard.config) })
  const wsContext = (o: WsContextOptions) => ({ ...guard.ws(o), db })
  applyWSSHandler({ wss, router, createContext: wsContext })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  const closes: (() => void)[] = []
  let users = 0

  async function signIn(email: string): Promise<SignedIn> {
    const { headers, response } = await auth.api.signInEmail({
      body: { email, password: PASSWORD },
      returnHeaders: true,
    })
    return { ...sessionOf(headers), userId: response.user.id, email }
  }

  return {
    auth,
    guard,
    db,
    database,
    signIn,
    async signUp(): Promise<SignedIn> {
      const email = `user${++users}@example.com`
      await auth.api.signUpEmail({ body: { name: 'Ada', email, password: PASSWORD } })
      return signIn(email)
    },
    async signUpAdmin(): Promise<SignedIn> {
      const user = await this.signUp()
      database.prepare(`update user set role = 'admin' where id = ?`).run(user.userId)
      return signIn(user.email)
    },
    /** Returns null for an accepted call, or the reason. */
    async call(cookie: string, path: 'me' | 'ownAccount' = 'me'): Promise<string | null> {
      const response = await fetch(`http://localhost:${port}/trpc/${path}`, {
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
      })
      const body = await response.json()
      return response.ok ? null : body.error.data.auth.reason
    },
    /** Opens a stream over each transport, and waits for their first values. */
    async openStreams(cookie: string, name: 'stream' | 'adminStream' = 'stream'): Promise<Stream[]> {
      const headers = { cookie, origin: ORIGIN }
      const overHttp = createTRPCClient<typeof router>({
        links: [
          httpSubscriptionLink({
            url: `http://localhost:${port}/trpc`,
            EventSource,
            eventSourceOptions: {
              fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...headers } }),
            },
          }),
        ],
      })
      const Socket: unknown = class extends WebSocket {
        constructor(url: string | URL) {
          super(url, { headers })
        }
      }
      const client = createWSClient({
        url: `ws://localhost:${port}`,
        WebSocket: Socket as typeof globalThis.WebSocket,
      })
      const overSocket = createTRPCClient<typeof router>({ links: [wsLink({ client })] })
      const streams = [openStream(overHttp[name]), openStream(overSocket[name])]
      closes.push(() => void client.close(), ...streams.map(({ unsubscribe }) => unsubscribe))
      const first = await Promise.all(streams.map((stream) => stream.first))
      for (const { rejection } of first) if (rejection !== null) throw new Error(JSON.stringify(rejection))
      return streams
    },
    async close() {
      for (const close of closes) close()
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await guard.close()
      database.close()
    },
  }
}

export interface SignedIn {
  readonly cookie: string
  readonly headers: Headers
  /** The token of the session. */
  readonly token: string
  readonly userId: string
  readonly email: string
}

/** Returns the session that a response sets. */
export function sessionOf(headers: Headers): Pick<SignedIn, 'cookie' | 'headers' | 'token'> {
  const cookie = cookieOf(headers)
  const [, token = ''] = /session_token=([^.]+)/.exec(cookie) ?? []
  return { cookie, headers: new Headers({ cookie }), token }
}

/** Returns why each stream ended. */
export async function reasonsOf(streams: readonly Stream[]): Promise<(string | undefined)[]> {
  return Promise.all(streams.map(async ({ ended }) => (await ended)?.auth?.reason))
}
