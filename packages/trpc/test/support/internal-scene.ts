import { join } from 'node:path'
import {
  type AuthDatabase,
  AuthError,
  type AuthFailure,
  ConfigurationError,
  type KeySet,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { authStore, EndpointError } from '@sallyport/core/internal/server'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  type ActingUser,
  type CallLimits,
  createAuthRuntime,
  createInternalHandler,
  defineInternalFunctions,
  type HttpRunnerOptions,
  type HttpRunnerRequest,
  httpRunner,
  type InternalFunctions,
  type Runner,
} from '@sallyport/trpc/action'
import { initTRPC, TRPCError } from '@trpc/server'
import * as z from 'zod'
import { faultyStore } from './faulty-store.ts'

/** What the test functions do and record. */
export interface Work {
  /** The paths of the functions that ran. */
  readonly runs: string[]
  /** Resolves the promise that `work.wait` waits for. */
  finish: () => void
  /** The promise that `work.wait` waits for. */
  gate: Promise<void>
  /** The last signal that `work.wait` received. */
  signal: AbortSignal | undefined
}

interface Context extends ActingUser {
  readonly db: AuthDatabase
  readonly work: Work
}

const t = initTRPC.context<Context>().create()
const noted = t.procedure.use(({ ctx, path, next }) => {
  ctx.work.runs.push(path)
  return next()
})

/** Errors that a function may throw, by name. */
export const FAILURES = {
  trpc: () => new TRPCError({ code: 'PRECONDITION_FAILED', message: 'Write something first' }),
  wrapped: () => new TRPCError({ code: 'BAD_REQUEST', cause: new Error('The title is taken') }),
  unknown: () => new Error('SELECT password FROM user'),
  nothing: () => 'a text',
  auth: () => new AuthError('ROLE_REQUIRED'),
  limited: () => new AuthError('RATE_LIMITED', { retryAfterSeconds: 42 }),
  rejected: () =>
    new TRPCError({ code: 'FORBIDDEN', message: 'No', cause: new AuthError('SESSION_NOT_FRESH') }),
  endpoint: () =>
    new EndpointError(
      { code: 'INVALID_INPUT', status: 400, message: 'The request is not valid' },
      { fields: ['name'] },
    ),
  configuration: () => new ConfigurationError('There is no database', { code: 'CONTEXT_EMPTY' }),
} as const
export type Failure = keyof typeof FAILURES

const internalRouter = t.router({
  report: t.router({
    save: noted.input(z.object({ title: z.string() })).mutation(({ ctx, input }) => ({
      title: input.title,
      by: ctx.user?.id ?? null,
      id: ctx.work.runs.length,
    })),
    list: noted.query(({ ctx }) => ({ by: ctx.user?.id ?? null })),
  }),
  work: t.router({
    echo: noted.input(z.unknown()).query(({ input }) => input),
    echoAndWrite: noted.input(z.unknown()).mutation(({ input }) => input),
    answer: noted.query(() => ({
      at: new Date(0),
      missing: undefined,
      list: [undefined, Number.NaN],
      nested: { deep: new Map([['a', 1]]) },
    })),
    nothing: noted.mutation(() => {}),
    acting: noted.query(({ ctx: { identity, session, user } }) => ({ identity, session, user })),
    fail: noted.input(z.custom<Failure>()).mutation(({ input }) => {
      throw FAILURES[input]()
    }),
    large: noted.input(z.number()).query(({ input }) => 'x'.repeat(input)),
    stream: noted.query(async function* () {
      yield 1
    }),
    bigint: noted.mutation(() => 1n),
    wait: noted.query(async ({ ctx, signal }) => {
      ctx.work.signal = signal
      await ctx.work.gate
      return 'done'
    }),
    waitAndWrite: noted.mutation(async ({ ctx, signal }) => {
      ctx.work.signal = signal
      await ctx.work.gate
      return 'done'
    }),
  }),
})

/** A process that has the database. */
export interface InternalNode {
  readonly functions: InternalFunctions
  readonly handler: (request: Request) => Promise<Response>
  /** The causes that `onFailure` received. */
  readonly errors: unknown[]
}

/** An app with internal functions, and a service that calls them. */
export interface InternalScene {
  readonly auth: TestAuth
  readonly work: Work
  /** Makes Step 2 fail. */
  readonly store: ReturnType<typeof faultyStore>
  readonly signingKeys: object
  readonly serviceJwks: KeySet
  /** The first node. */
  readonly node: InternalNode
  /** Opens the same database again, as another process does. */
  openNode(limits?: CallLimits): Promise<InternalNode>
  /** Adds a node on the open database. */
  addNode(limits?: CallLimits, options?: { serviceJwks?: KeySet }): InternalNode
  /** Creates a service's runner that calls a node. */
  runnerFor(node: Pick<InternalNode, 'handler'>, options?: Partial<HttpRunnerOptions>): Runner
  /** The errors that the runners reported. */
  readonly runnerErrors: unknown[]
  reset(): void
  close(): Promise<void>
}

/** @param directory of the database */
export async function createInternalScene(directory: string): Promise<InternalScene> {
  const url = join(directory, `${crypto.randomUUID()}.db`)
  const auth = await createTestAuth({ databaseUrl: url })
  const { config, definition } = auth
  const { getAuth } = createAuthRuntime(() => definition)
  const opened = auth.db[authStore]
  const store = faultyStore(opened.sessions)
  const db = withAuthStore({}, { ...opened, sessions: store })
  const signingKeys = { keys: [await createSigningKey()] }
  const serviceJwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const work: Work = { runs: [], finish() {}, gate: Promise.resolve(), signal: undefined }
  const closing: (() => Promise<void>)[] = []
  const runnerErrors: unknown[] = []

  function createNode(
    database: AuthDatabase,
    { maxResponseBytes, ...limits }: CallLimits = {},
    jwks = serviceJwks,
  ): InternalNode {
    const errors: unknown[] = []
    const onFailure = ({ cause }: AuthFailure) => void errors.push(cause)
    const functions = defineInternalFunctions({
      router: internalRouter,
      createContext: () => ({ db: database, work }),
      config: { ...config, onFailure },
      getAuth,
      ...(maxResponseBytes !== undefined && { maxResponseBytes }),
    })
    const handler = createInternalHandler(functions, { serviceJwks: jwks, ...limits })
    return { functions, handler, errors }
  }

  const node = createNode(db)
  return {
    auth,
    work,
    store,
    signingKeys,
    serviceJwks,
    node,
    async openNode(limits) {
      const other = await openSqlite(url)
      closing.push(other.close)
      return createNode(other.db, limits)
    },
    addNode: (limits, options) => createNode(db, limits, options?.serviceJwks),
    runnerFor: ({ handler }, options) =>
      httpRunner({
        url: 'http://localhost/internal',
        service: { name: 'edge', signingKeys },
        config: { ...config, onFailure: ({ cause }) => void runnerErrors.push(cause) },
        fetch: overNoNetwork(handler),
        ...options,
      }),
    runnerErrors,
    reset() {
      runnerErrors.length = 0
      work.finish()
      work.runs.length = 0
      work.signal = undefined
      work.gate = Promise.resolve()
      node.errors.length = 0
      store.answer = null
    },
    async close() {
      for (const close of closing) await close()
      await auth.close()
    },
  }
}

/** Creates a `fetch` that passes its requests to a handler. */
export function overNoNetwork(handler: InternalNode['handler']) {
  return (url: string, init: HttpRunnerRequest): Promise<Response> => handler(new Request(url, init))
}

/** Makes `work.wait` and `work.waitAndWrite` wait until `work.finish()`. */
export function holdWork(work: Work): void {
  work.gate = new Promise((resolve) => {
    work.finish = resolve
  })
}
