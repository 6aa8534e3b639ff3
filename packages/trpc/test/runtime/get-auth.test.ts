import type { Session } from '@sallyport/core'
import type { SessionOf } from '@sallyport/core/auth'
import type {
  CurrentSessionResponse,
  SuccessResponse,
  TokenResponse,
} from '@sallyport/core/internal/protocol'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import type { BoundApi, RuntimeContext } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import {
  openRuntime,
  type ProbeDefinition,
  routeContext,
  WAYS,
  type Way,
  wayTo,
} from '../support/open-runtime.ts'
import { ORIGIN } from '../support/visitor.ts'
import { codeOf } from './code-of.ts'

const directory = temporaryDirectory()

const app = await openRuntime(directory)
beforeEach(() => app.reset())
afterAll(() => app.close())

type ProbeApi = BoundApi<ProbeDefinition['plugins']>

describe('the result of getAuth', () => {
  test('is available synchronously, and neither reads nor sends anything', () => {
    for (const way of WAYS) {
      const auth = app.getAuth(routeContext(app, way))
      expect(auth).not.toHaveProperty('then')
      expect(auth.api.getSession).toBeTypeOf('function')
    }
    expect(app.calls).toEqual([])
  })

  test.each(WAYS)('belongs to its request only, %s', async (way) => {
    const [ada, bob] = [await app.signIn(), await app.signIn()]
    const { api: ofAda } = app.getAuth(routeContext(app, way, { cookie: ada.cookie }))
    const { api: ofBob } = app.getAuth(routeContext(app, way, { cookie: bob.cookie }))
    const answers = await Promise.all([ofAda.readAsUser(), ofBob.readAsUser(), ofAda.readAsUser()])
    expect(answers.map(({ caller }) => caller)).toEqual([ada.userId, bob.userId, ada.userId])
  })

  test('has methods that can be destructured', async () => {
    const { cookie, userId } = await app.signIn()
    const { readAsUser } = app.getAuth(routeContext(app, 'direct', { cookie })).api
    expect(await readAsUser()).toMatchObject({ caller: userId })
  })

  test("has the endpoints, and nothing that only the app's server may do", () => {
    const { api } = app.getAuth(routeContext(app, 'direct'))
    const names: string[] = []
    for (const name in api) names.push(name)
    expect(names).toEqual(expect.arrayContaining(['signOut', 'token', 'banUser', 'readAsUser']))
    expect(names).not.toContain('createSession')
    expect(api).not.toHaveProperty('createSession')
    expect(api).not.toHaveProperty('then')
  })
})

const t = initTRPC.context<RuntimeContext>().create()
const guarded = initTRPC.context<DatabaseContext>().create()

/** Procedures that run the test's work on behalf of their caller. */
const work: { run: (api: ProbeApi) => unknown } = { run: () => null }
const runPublic = ({ ctx }: { ctx: RuntimeContext }) => work.run(app.getAuth(ctx).api)
const publicRouter = t.router({
  query: t.procedure.query(runPublic),
  mutation: t.procedure.mutation(runPublic),
  subscription: t.procedure.subscription(async function* ({ ctx }) {
    yield await runPublic({ ctx })
  }),
})
const runGuarded = ({ ctx }: { ctx: DatabaseContext }) => work.run(app.getAuth(ctx).api)
const guardedRouter = guarded.router({
  query: guarded.procedure.use(sessionMiddleware).query(runGuarded),
  mutation: guarded.procedure.use(sessionMiddleware).mutation(runGuarded),
  subscription: guarded.procedure.use(sessionMiddleware).subscription(async function* ({ ctx }) {
    yield await runGuarded({ ctx })
  }),
})

type Procedure = 'query' | 'mutation' | 'subscription'

/** Calls a procedure as tRPC's adapters do. */
async function call(
  caller: Record<'query' | 'mutation', () => Promise<unknown>> & {
    subscription: () => Promise<AsyncIterable<unknown>>
  },
  procedure: Procedure,
): Promise<unknown> {
  if (procedure !== 'subscription') return caller[procedure]()
  for await (const value of await caller.subscription()) return value
  return undefined
}

/** How a call arrives. */
const ENTRIES = {
  async 'a guarded procedure over HTTP'(_way: Way, procedure: Procedure) {
    const ctx = { ...overHttp((await app.signIn()).cookie, procedure), db: app.db }
    return call(guarded.createCallerFactory(guardedRouter)(ctx), procedure)
  },
  async 'a guarded procedure over WebSocket'(_way: Way, procedure: Procedure) {
    const ctx = { ...overSocket((await app.signIn()).cookie), db: app.db }
    return call(guarded.createCallerFactory(guardedRouter)(ctx), procedure)
  },
  async 'a guarded procedure that the server calls itself'(_way: Way, procedure: Procedure) {
    const headers = { cookie: (await app.signIn()).cookie, origin: ORIGIN }
    const ctx = { ...createAuthContext(app.auth.config).headers(headers), db: app.db }
    return call(guarded.createCallerFactory(guardedRouter)(ctx), procedure)
  },
  async 'a public procedure over HTTP'(way: Way, procedure: Procedure) {
    const ctx = { ...overHttp((await app.signIn()).cookie, procedure), ...wayTo(app, way) }
    return call(t.createCallerFactory(publicRouter)(ctx), procedure)
  },
  async 'a public procedure over WebSocket'(way: Way, procedure: Procedure) {
    const ctx = { ...overSocket((await app.signIn()).cookie), ...wayTo(app, way) }
    return call(t.createCallerFactory(publicRouter)(ctx), procedure)
  },
  async 'a plain GET route'(way: Way) {
    const { cookie } = await app.signIn()
    return work.run(app.getAuth(routeContext(app, way, { cookie, method: 'GET' })).api)
  },
  async 'a plain POST route'(way: Way) {
    const { cookie } = await app.signIn()
    return work.run(app.getAuth(routeContext(app, way, { cookie, method: 'POST' })).api)
  },
} as const

const overHttp = (cookie: string, type: Procedure) =>
  createAuthContext(app.auth.config).http({
    req: { method: type === 'mutation' ? 'POST' : 'GET', headers: { cookie, origin: ORIGIN } },
    info: { type, accept: null },
  })

const overSocket = (cookie: string) =>
  createAuthContext(app.auth.config).ws({
    req: { headers: { cookie, origin: ORIGIN } },
    info: { connectionParams: null },
  })

const READS: { endpoint: string; run: (api: ProbeApi) => unknown }[] = [
  { endpoint: 'readAsAnyone', run: (api) => api.readAsAnyone() },
  { endpoint: 'readAsUser', run: (api) => api.readAsUser() },
]

const WRITES: { endpoint: string; run: (api: ProbeApi) => unknown }[] = [
  { endpoint: 'writeAsUser', run: (api) => api.writeAsUser({ text: 'hi' }) },
  { endpoint: 'setCookie', run: (api) => api.setCookie() },
  { endpoint: 'readAsToken', run: (api) => api.readAsToken() },
]

describe('a write', () => {
  const QUERIES = (Object.keys(ENTRIES) as (keyof typeof ENTRIES)[]).filter((entry) =>
    /guarded|over HTTP/.test(entry),
  )
  const ALLOWED: { entry: keyof typeof ENTRIES; procedure: Procedure }[] = [
    ...QUERIES.map((entry) => ({ entry, procedure: 'mutation' as const })),
    // Over HTTP, a subscription is a GET.
    ...QUERIES.filter((entry) => !entry.includes('over HTTP')).map((entry) => ({
      entry,
      procedure: 'subscription' as const,
    })),
    { entry: 'a public procedure over WebSocket', procedure: 'mutation' },
    { entry: 'a plain GET route', procedure: 'mutation' },
    { entry: 'a plain POST route', procedure: 'mutation' },
  ]
  const ways = (entry: string): readonly Way[] =>
    entry.includes('guarded') ? ['direct'] : ['direct', 'HTTP']

  describe.each(QUERIES)('in a tRPC query, by %s', (entry) => {
    test.each(WRITES)('$endpoint: WRITE_IN_QUERY, before anything is sent or read', async ({ run }) => {
      work.run = run
      for (const way of ways(entry)) {
        expect(await codeOf(() => ENTRIES[entry](way, 'query'))).toBe('WRITE_IN_QUERY')
      }
      expect(app.runs).toEqual([])
      expect(app.calls).toEqual([])
    })

    test.each(READS)('is not $endpoint', async ({ endpoint, run }) => {
      work.run = run
      for (const way of ways(entry)) await ENTRIES[entry](way, 'query')
      expect(app.runs).toEqual(ways(entry).map(() => endpoint))
    })
  })

  describe.each(QUERIES.filter((entry) => entry.includes('over HTTP')))(
    'that came by GET, by %s',
    (entry) => {
      test.each(WRITES)('$endpoint: WRITE_IN_QUERY in a subscription', async ({ run }) => {
        work.run = run
        for (const way of ways(entry))
          expect(await codeOf(() => ENTRIES[entry](way, 'subscription'))).toBe('WRITE_IN_QUERY')
        expect(app.runs).toEqual([])
        expect(app.calls).toEqual([])
      })
    },
  )

  test("that came by GET isn't rejected in a mutation that the server calls for it", async () => {
    const context = overHttp((await app.signIn()).cookie, 'query')
    const caller = guarded.createCallerFactory(guardedRouter)({ ...context, db: app.db })
    work.run = (api) => api.writeAsUser({ text: 'hi' })
    expect(await codeOf(() => call(caller, 'mutation'))).toBe('WRITE_IN_QUERY')
    expect(app.runs).toEqual([])
  })

  describe.each(ALLOWED)('is allowed in $entry, $procedure', ({ entry, procedure }) => {
    test.each(WRITES)('$endpoint', async ({ endpoint, run }) => {
      work.run = run
      for (const way of ways(entry)) await ENTRIES[entry](way, procedure)
      expect(app.runs).toEqual(ways(entry).map(() => endpoint))
    })
  })

  test('names the endpoint and the fix', async () => {
    work.run = (api) => api.writeAsUser({ text: 'hi' })
    await expect(ENTRIES['a public procedure over HTTP']('direct', 'query')).rejects.toThrow(
      'auth.api.writeAsUser() writes, and this call is a query or came by GET: make it a mutation',
    )
  })
})

describe('an authorized call', () => {
  test("doesn't check its JWT again: over WebSocket, the identity outlives it, and the session decides", async () => {
    const session = await app.signIn()
    const ctx = { ...overSocket(session.cookie), db: app.db }
    const caller = guarded.createCallerFactory(guardedRouter)(ctx)
    work.run = (api) => api.readAsUser()
    await caller.query()
    app.auth.clock.advance(app.auth.config.jwtLifetimeSeconds + 60)
    expect(await caller.query()).toMatchObject({ caller: session.userId })
    await app.auth.revoke(session)
    await expect(caller.query()).rejects.toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  })
})

test("the methods' types match the endpoints, including plugins and added columns", () => {
  const { api } = app.getAuth(routeContext(app, 'direct'))
  expectTypeOf(api.signOut).toEqualTypeOf<
    (input?: object) => Promise<SuccessResponse & { readonly headers: Headers }>
  >()
  expectTypeOf(api.token).returns.resolves.toEqualTypeOf<TokenResponse & { readonly headers: Headers }>()
  expectTypeOf(api.listSessions).parameters.toEqualTypeOf<[input?: object]>()
  expectTypeOf(api.writeAsUser).parameters.toEqualTypeOf<[input: { text: string }]>()
  expectTypeOf(api.readAsAnyone).parameters.toEqualTypeOf<[input?: { text?: string | undefined }]>()
  expectTypeOf(api.writeAsUser).returns.resolves.toEqualTypeOf<{ caller: string | null; text: string }>()
  expectTypeOf(api.setCookie).returns.resolves.toHaveProperty('headers')
  expectTypeOf(api.writeAsUser).returns.resolves.not.toHaveProperty('headers')
  expectTypeOf(api.banUser).parameter(0).toHaveProperty('userId')
  const session = async () => api.getSession()
  expectTypeOf(session).returns.resolves.toExtend<CurrentSessionResponse>()
  type Current = Awaited<ReturnType<typeof session>>
  expectTypeOf<Current['user']['locale']>().toEqualTypeOf<'en' | 'de'>()
  expectTypeOf<Current['session']['theme']>().toEqualTypeOf<string | null>()
  expectTypeOf<SessionOf<ProbeDefinition>['toured']>().toEqualTypeOf<boolean>()
  expectTypeOf<SessionOf<ProbeDefinition>>().toExtend<Session>()
  // @ts-expect-error the input is required
  const withoutInput = () => api.writeAsUser()
  // @ts-expect-error the context has the request
  const withRequest = () => api.writeAsUser({ text: 'hi', request: new Request('http://localhost') })
  // @ts-expect-error the endpoint does not exist
  const unknown = () => api.signInWithMagic
  // @ts-expect-error only the app's server may call it
  const createSession = () => api.createSession
  expect([withoutInput, withRequest, unknown, createSession]).toHaveLength(4)
})
