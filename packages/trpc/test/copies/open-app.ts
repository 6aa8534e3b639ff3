import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type AuthConfig, type AuthConfigOptions, defineAuthConfig, staticJwks } from '@sallyport/core'
import {
  type Auth,
  createAuth,
  createSession,
  defineAuth,
  issueJwt,
  parseSigningKeys,
} from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import * as postgres from '@sallyport/core/postgres'
import * as sqlite from '@sallyport/core/sqlite'
import type { TestClock } from '@sallyport/core/testing'
import {
  type AuthContext,
  authHandlerOptions,
  authResponseMeta,
  createAuthContext,
  webSocketOptions,
} from '@sallyport/trpc'
import {
  createAuthedAction,
  createAuthRuntime,
  createInternalHandler,
  defineInternalFunctions,
  httpRunner,
  type Runner,
} from '@sallyport/trpc/action'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { sql } from 'kysely'
import { WebSocketServer } from 'ws'
import { createTestClock } from '../../../core/src/testing/instruments.ts'
import { createOutbox, type Outbox } from '../../../core/test/support/outbox.ts'
import { PATIENT, PATIENT_SESSION } from '../../../core/test/support/postgres.ts'
import { createUserMaker, type MadeUser } from '../../../core/test/support/user-maker.ts'
import { ORIGIN } from '../support/visitor.ts'
import { type AppKysely, appRouter, type CopiesContext, createCaller, type NoteTables } from './router.ts'
import { createTicks, type Ticks } from './ticks.ts'

type Rendering = ReturnType<typeof createServerAuth>

/** A session's credentials as its browser received them. */
export interface SignedIn {
  readonly userId: string
  readonly sessionId: string
  readonly token: string
  readonly sessionCookie: string
}

/** An app that accepts credentials on every path. */
export interface CopiesApp {
  readonly config: AuthConfig
  readonly clock: TestClock
  readonly db: AppKysely
  readonly lockSession: sqlite.LockSession
  readonly ticks: Ticks
  readonly outbox: Outbox
  /** Host and port. */
  readonly host: string
  /** Whether refreshes rotate the session secret. */
  isRotating: boolean
  /** Why each session ended, by id. */
  readonly ends: Map<string, string>
  /** Holds gated procedures until the returned function is called. */
  closeGate(): () => void
  createUser(): Promise<MadeUser>
  signIn(userId: string): Promise<SignedIn>
  render: Rendering
  /** Calls `me` with a page's headers. */
  callAsPage(headers: Headers): Promise<string>
  /** Calls an action that has no database, and reaches it through internal calls. */
  callAction(headers: Readonly<Record<string, string>>, path: 'me' | 'endpoint'): Promise<string>
  close(): Promise<void>
}

type Keys = Awaited<ReturnType<typeof createSigningKey>>
type Definition = ReturnType<typeof define>['definition']

/** The app's auth endpoints, for its clients. */
export type CopiesApi = Auth<Definition['plugins']>['api']

function define(key: Keys, outbox: Outbox, { session, ...options }: Partial<AuthConfigOptions>) {
  const signingKeys = { keys: [key] }
  const jwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const config = defineAuthConfig({
    baseUrl: ORIGIN,
    bearer: true,
    trustedProxies: ['127.0.0.1', '::1'],
    ...options,
    session: { ...PATIENT_SESSION, ...session },
    jwks,
  })
  const plugins = [emailPassword({ sendEmail: outbox.sendEmail })] as const
  return { config, definition: defineAuth({ config, signingKeys, plugins }) }
}

export async function openCopiesApp(url: string): Promise<CopiesApp> {
  const isPostgres = url.startsWith('postgres:')
  const opened = isPostgres
    ? await postgres.openPostgres<NoteTables>(url, PATIENT)
    : await sqlite.openSqlite<NoteTables>(url)
  const db: AppKysely = opened.db
  await sql`create table if not exists note (id text primary key)`.execute(db)
  const clock = createTestClock()
  const outbox = createOutbox()
  const key = await createSigningKey()
  const ends: CopiesApp['ends'] = new Map()
  const options: Partial<AuthConfigOptions> = {
    now: clock.now,
    onEvent(event) {
      if (event.type === 'session.revoked') ends.set(event.sessionId, event.cause)
    },
  }
  const { config, definition } = define(key, outbox, options)
  const rotating = define(key, outbox, { ...options, session: { rotateSessionToken: true } })
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  const rotatingAuth = await createAuth(rotating.definition, opened, { pruneEverySeconds: 0 })
  const handler: typeof auth.handler = (request, further) =>
    (app.isRotating ? rotatingAuth : auth).handler(request, further)

  const lockSession = isPostgres ? postgres.lockSession : sqlite.lockSession
  const ticks = createTicks()
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  const further = { db, config, lockSession, ticks, gate: () => gate.promise }
  const contexts = createAuthContext(config)
  const { host, close } = await listen({ config, handler, further })
  const { runner, call } = openActions({ config, definition, db })
  const [render, renderRotating] = [config, rotating.config].map((each) =>
    createServerAuth({ config: each, token: handler }),
  ) as [Rendering, Rendering]

  const app: CopiesApp = {
    config,
    clock,
    db,
    lockSession,
    ticks,
    outbox,
    host,
    isRotating: false,
    ends,
    closeGate() {
      const closed = Promise.withResolvers<void>()
      gate = closed
      return () => closed.resolve()
    },
    createUser: await createUserMaker({ database: auth.database, clock }),
    async signIn(userId) {
      const { id, version, expiresAt, cookie } = await createSession(auth.database, { userId, config })
      const { active } = parseSigningKeys({ keys: [key] })
      const { token } = await issueJwt(
        { id, userId, expiresAt, version },
        { key: active, config, now: clock.now() },
      )
      return { userId, sessionId: id, token, sessionCookie: cookie }
    },
    render: (request, pageOptions) => (app.isRotating ? renderRotating : render)(request, pageOptions),
    callAsPage: (headers) => createCaller({ ...contexts.headers(headers), ...further }).me(),
    callAction: (headers, path) => call({ ...contexts.headers(headers), runner }, path),
    async close() {
      await close()
      auth.close()
      rotatingAuth.close()
      await opened.close()
    },
  }
  return app
}

interface Listening {
  readonly config: AuthConfig
  readonly handler: (request: Request, options: { remoteAddress: string | undefined }) => Promise<Response>
  readonly further: Omit<CopiesContext, 'auth'>
}

/** Histories open sockets faster than users do. */
const LIMITS = { maxHandshakesPerAddress: 100_000 }

async function listen({ config, handler, further }: Listening) {
  const contexts = createAuthContext(config, { db: further.db })
  const options = { router: appRouter, responseMeta: authResponseMeta, ...authHandlerOptions }
  const server = createServer(
    getRequestListener((req, { incoming }) => {
      const { remoteAddress } = incoming.socket
      if (new URL(req.url).pathname.startsWith('/api/auth/')) return handler(req, { remoteAddress })
      return fetchRequestHandler({
        ...options,
        req,
        endpoint: '/trpc',
        createContext: (o) => ({ ...contexts.http({ ...o, remoteAddress }), ...further }),
      })
    }),
  )
  const wss = new WebSocketServer({ server, path: '/ws', ...webSocketOptions(config, LIMITS) })
  applyWSSHandler({
    wss,
    router: appRouter,
    createContext: (o) => ({ ...contexts.ws(o), ...further }),
    ...authHandlerOptions,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    async close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const edge = initTRPC.context<AuthContext & { readonly runner: Runner }>().create()
const internal = initTRPC.context<{ db: AppKysely }>().create()

/** Opens actions on a node without a database, whose internal calls go to a node with one. */
function openActions({
  config,
  definition,
  db,
}: {
  config: AuthConfig
  definition: Definition
  db: AppKysely
}) {
  const { getAuth } = createAuthRuntime(() => definition)
  const createdKey = createSigningKey()
  const opening = createdKey.then((key) => {
    const serviceKeys = { keys: [key] }
    const functions = defineInternalFunctions({
      router: internal.router({}),
      createContext: () => ({ db }),
      config,
      getAuth,
    })
    const serve = createInternalHandler(functions, {
      serviceJwks: staticJwks(parseSigningKeys(serviceKeys).publicJwks),
    })
    return httpRunner({
      url: 'http://localhost/internal',
      service: { name: 'edge', signingKeys: serviceKeys },
      config,
      fetch: (url, init) => serve(new Request(url, init)),
    })
  })
  const runner: Runner = { run: async (call) => (await opening).run(call) }
  const action = createAuthedAction(edge.procedure, getAuth, (ctx) => ctx.runner)
  const createActionCaller = edge.createCallerFactory(
    edge.router({
      me: action.query(({ ctx }) => ctx.session.id),
      endpoint: action.query(async ({ ctx }) => (await ctx.auth.api.getSession()).session.id),
    }),
  )
  return {
    runner,
    call: (context: AuthContext & { readonly runner: Runner }, path: 'me' | 'endpoint') =>
      createActionCaller(context)[path](),
  }
}
