import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type AuthConfig,
  type AuthDatabase,
  defineAuthConfig,
  type KeySet,
  type Session,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import {
  type AuthPlugin,
  type AuthTables,
  createAuth,
  createSession,
  defineAuth,
  defineEndpoint,
  type Endpoint,
  parseSigningKeys,
  type SigningKeys,
} from '@sallyport/core/auth'
import { columnsOf, createSigningKey } from '@sallyport/core/internal/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import {
  type AuthContext,
  authErrorData,
  authHandlerOptions,
  authResponseMeta,
  createAuthContext,
  type DatabaseContext,
  requireRole,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import {
  createAuthedAction,
  createAuthRuntime,
  createInternalHandler,
  defineInternalFunctions,
  type GetAuth,
  httpRunner,
  localRunner,
  type Runner,
} from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import type { Kysely } from 'kysely'
import { WebSocketServer } from 'ws'
import * as z from 'zod'
import type { Random } from '../../../core/test/hostile/random.ts'
import { everyPasswordOption } from '../../../core/test/support/every-plugin.ts'
import {
  createSignIns,
  openSignInServer,
  type SignIns,
  type SignInWorld,
  startSignInWorld,
} from '../../../core/test/support/sign-in-methods.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'
import { KEEP_ALIVE } from '../support/keep-alive.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { Answer } from './model.ts'

/** An app that tests can call on every path. */
export interface PathsApp {
  readonly config: AuthConfig
  readonly signIns: SignIns
  /** Begins another session of a user with the app's own code. Returns its id. */
  readonly createSession: (userId: string) => Promise<string>
  /** Direct access to the tables, without any checks, to create states. */
  readonly tables: Kysely<AuthTables>
  /** The context's database. */
  readonly db: AuthDatabase
  readonly store: FaultyStore
  readonly getAuth: GetAuth<ProbeDefinition>
  /** Calls the internal functions over HTTP. */
  readonly runner: Runner
  /** Calls them in this process. */
  readonly local: Runner
  /** The service JWTs that it has sent. */
  readonly serviceTokens: string[]
  /** Handles the runner's requests. */
  readonly internal: (request: Request) => Promise<Response>
  /** Handles `/api/auth`. */
  readonly handler: (request: Request) => Promise<Response>
  /** Host and port. */
  readonly host: string
  close(): Promise<void>
}

type ProbeEndpoints = {
  readonly readAsUser: Endpoint<object, Answer, false>
  readonly readAsAdmin: Endpoint<object, Answer, false>
}
type ProbeDefinition = ReturnType<typeof defineProbe>

/** Returns the answer for a session. */
export const answerOf = ({ userId, id, user: { role } }: Session): Answer => ({ userId, sessionId: id, role })

const answer: z.ZodType<Answer> = z.object({ userId: z.string(), sessionId: z.string(), role: z.string() })
const readAs = (caller: 'user' | 'admin') =>
  defineEndpoint({
    method: 'GET',
    path: `/probe/${caller}`,
    caller,
    input: z.object({}),
    output: answer,
    run: async (_input, { session }) => ({ body: answerOf(session) }),
  })

/** Creates a definition whose endpoints return their caller, and with every method to sign in. */
function defineProbe(config: AuthConfig, signingKeys: SigningKeys, { plugins }: SignInWorld) {
  const endpoints = { readAsUser: readAs('user'), readAsAdmin: readAs('admin') }
  const probe: AuthPlugin<ProbeEndpoints> = { id: 'probe', endpoints }
  return defineAuth({
    config,
    signingKeys,
    encryptionKeys: randomBytes(32).toString('base64'),
    plugins: [probe, emailPassword(everyPasswordOption), ...plugins],
  })
}

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)
const adminProcedure = protectedProcedure.use(requireRole('admin'))

/** Yields until the reader leaves. */
async function* watch({ ctx }: { ctx: { session: Session; auth: { signal: AbortSignal } } }) {
  const { signal } = ctx.auth
  yield answerOf(ctx.session)
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

const router = t.router({
  user: protectedProcedure.query(({ ctx }) => answerOf(ctx.session)),
  admin: adminProcedure.query(({ ctx }) => answerOf(ctx.session)),
  watchAsUser: protectedProcedure.subscription(watch),
  watchAsAdmin: adminProcedure.subscription(watch),
})
export const createCaller = t.createCallerFactory(router)

interface ActionSource extends AuthContext {
  readonly db?: AuthDatabase | undefined
  readonly runner: Runner
}

const edge = initTRPC.context<ActionSource>().create()

const internal = initTRPC.context<{ db: AuthDatabase }>().create()

/** Creates a caller for the app's actions. */
export function createActions({ getAuth }: Pick<PathsApp, 'getAuth'>) {
  const action = createAuthedAction(edge.procedure, getAuth, ({ runner }) => runner)
  const actions = edge.router({
    user: action.query(({ ctx }) => answerOf(ctx.session)),
    admin: action.use(requireRole('admin')).query(({ ctx }) => answerOf(ctx.session)),
    endpointAsUser: action.query(({ ctx }) => ctx.auth.api.readAsUser()),
    endpointAsAdmin: action.query(({ ctx }) => ctx.auth.api.readAsAdmin()),
  })
  return edge.createCallerFactory(actions)
}

/** Opens the app on a database in memory. */
export async function openPathsApp({
  jwks,
  signingKeys,
  now,
  random,
}: {
  jwks: KeySet
  signingKeys: SigningKeys
  now: () => Date
  random: Random
}): Promise<PathsApp> {
  const config = defineAuthConfig({
    baseUrl: ORIGIN,
    jwks,
    bearer: true,
    now,
    session: { lookupTimeoutMs: 60_000 },
  })
  const world = await startSignInWorld()
  const definition = defineProbe(config, signingKeys, world)
  const opened = await openSqlite(':memory:', { columns: columnsOf(definition) })
  const store = faultyStore(opened.sessions)
  const database = { ...opened, sessions: { ...opened.sessions, findSession: store.findSession } }
  const { revocations, limits } = opened
  const db = withAuthStore({}, { sessions: store, revocations, limits, database })
  const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
  const { handler, close } = auth
  const { getAuth } = createAuthRuntime(() => definition)

  const functions = defineInternalFunctions({
    router: internal.router({}),
    createContext: () => ({ db }),
    config,
    getAuth,
  })
  const serviceKeys = { keys: [await createSigningKey()] }
  const internalHandler = createInternalHandler(functions, {
    serviceJwks: staticJwks(parseSigningKeys(serviceKeys).publicJwks),
  })
  const serviceTokens: string[] = []
  const runner = httpRunner({
    url: 'http://localhost/internal',
    service: { name: 'edge', signingKeys: serviceKeys },
    config,
    fetch(url, init) {
      serviceTokens.push(init.headers.authorization?.slice('Bearer '.length) ?? '')
      return internalHandler(new Request(url, init))
    },
  })

  const contexts = createAuthContext(config, { db })
  const server = createServer(
    KEEP_ALIVE,
    createHTTPHandler({
      router,
      responseMeta: authResponseMeta,
      createContext: (o) => ({ ...contexts.http(o), db }),
      ...authHandlerOptions,
    }),
  )
  const wss = new WebSocketServer({ server, ...webSocketOptions(config) })
  applyWSSHandler({
    wss,
    router,
    createContext: (o) => ({ ...contexts.ws(o), db }),
    ...authHandlerOptions,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const signInServer = await openSignInServer({ ...auth, db: opened.db, clock: { now } }, world)
  return {
    config,
    signIns: createSignIns(signInServer, random),
    createSession: async (userId) => (await createSession(auth.database, { userId, config })).id,
    tables: opened.db,
    db,
    store,
    getAuth,
    runner,
    serviceTokens,
    internal: internalHandler,
    local: localRunner(functions),
    handler,
    host: `127.0.0.1:${port}`,
    async close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      close()
      await opened.close()
    },
  }
}
