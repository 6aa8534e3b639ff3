import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setInterval } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { type AuthConfig, defineAuthConfig } from '@sallyport/core'
import {
  createAuth,
  createSession,
  defineAuth,
  issueJwt,
  type KeyFile,
  openKeyFile,
} from '@sallyport/core/auth'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import type { TestClock } from '@sallyport/core/testing'
import {
  authErrorData,
  createAuthContext,
  type DatabaseContext,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { createTestClock } from '../../../core/src/testing/instruments.ts'
import type { SallyportHost } from '../../../core/test/support/host-sallyport.ts'
import { KEEP_ALIVE } from './keep-alive.ts'

/** A signed-in browser. */
export interface SignedIn {
  readonly token: string
  /** Sent with every request. */
  readonly headers: { readonly cookie: string; readonly origin: string }
}

/** An app with its keys in a key file, over HTTP and WebSocket, with `me` and `clock`. */
export interface KeyFileServer {
  /** Host and port. */
  readonly host: string
  readonly config: AuthConfig
  readonly keyFile: KeyFile
  /** The JWTs' clock. The key file uses the real time. */
  readonly clock: TestClock
  /** Signs up a user, with a JWT of the current signing key. */
  signIn(): Promise<SignedIn>
  /** Runs a `sallyport keys` command on the key file. */
  keys(command: string, ...args: string[]): Promise<void>
  /** Edits the file's keys by hand. */
  edit(change: (keys: readonly StoredKey[]) => readonly StoredKey[]): void
  close(): Promise<void>
}

/** A key in the file. */
interface StoredKey {
  readonly kid: string
  readonly state: string
  readonly since: string
}

const BASE_URL = 'http://localhost:3000'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

const router = t.router({
  me: protectedProcedure.query(({ ctx }) => ctx.session.userId),
  clock: protectedProcedure.subscription(async function* ({ ctx }) {
    for await (const _ of setInterval(10, undefined, { signal: ctx.auth.signal })) yield 'tick'
  }),
})

/** Starts the app on a free port. The host runs the commands. */
export async function startKeyFileServer(host: SallyportHost): Promise<KeyFileServer> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const path = join(directory, 'keys.json')
  const clock = createTestClock()
  const keyFile = await openKeyFile(path)
  const config = defineAuthConfig({ baseUrl: BASE_URL, jwks: keyFile.jwks, now: clock.now })
  const database = await openSqlite(':memory:')
  const { handler } = await createAuth(defineAuth({ config, signingKeys: keyFile.signingKeys }), database)
  const context = createAuthContext(config)
  const overTrpc = createHTTPHandler({
    router,
    basePath: '/trpc/',
    createContext: (options) => ({ ...context.http(options), db: database.db }),
  })
  const overAuth = getRequestListener((request) => handler(request))
  const server = createServer(KEEP_ALIVE, (request, response) =>
    request.url?.startsWith('/trpc/') ? overTrpc(request, response) : void overAuth(request, response),
  )
  const wss = new WebSocketServer({ server, path: '/ws', ...webSocketOptions(config) })
  applyWSSHandler({
    wss,
    router,
    createContext: (options) => ({ ...context.ws(options), db: database.db }),
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('A port was expected')

  return {
    host: `localhost:${address.port}`,
    config,
    keyFile,
    clock,
    async keys(command, ...args) {
      const call = ['keys', command, '--key-file', path, ...args]
      const { code, stderr } = await host.run(call, { cwd: directory })
      if (code !== 0) throw new Error(stderr)
    },
    async signIn() {
      const now = clock.now()
      const email = `${crypto.randomUUID()}@example.com`
      const password = 'correct horse battery staple'
      const { userId } = await createPasswordAccount(database, { name: 'Ada', email, password, now })
      const session = await createSession(database, { userId, config })
      const { token } = await issueJwt(session, { key: keyFile.signingKeys.active, config })
      const cookie = `${config.cookies.jwt}=${token}; ${config.cookies.session}=${session.cookie}`
      return { token, headers: { cookie, origin: BASE_URL } }
    },
    edit(change) {
      const ring: { keys: readonly StoredKey[] } = JSON.parse(readFileSync(path, 'utf8'))
      writeFileSync(`${path}.new`, JSON.stringify({ ...ring, keys: change(ring.keys) }))
      renameSync(`${path}.new`, path)
    },
    async close() {
      keyFile.close()
      for (const socket of wss.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await database.close()
      rmSync(directory, { recursive: true })
    },
  }
}
