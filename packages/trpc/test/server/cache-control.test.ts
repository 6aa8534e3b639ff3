import {
  authErrorData,
  authResponseMeta,
  createAuthContext,
  type DatabaseContext,
  sessionMiddleware,
} from '@sallyport/trpc'
import { createAuthRuntime } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { rawRequest } from '../support/raw-request.ts'
import { PATHS, startServer } from '../support/start-server.ts'
import { ORIGIN } from '../support/visitor.ts'

const server = await startServer()
afterEach(() => server.clear())
afterAll(() => server.close())

interface Row {
  readonly answer: string
  readonly path: string
  readonly method?: string
  readonly body?: string
  /** @default an anonymous caller */
  readonly by?: 'a user'
  readonly headers?: Record<string, string>
  readonly status: number
}

const JSON_TYPE = { 'content-type': 'application/json' }
const JSON_LINES = { 'trpc-accept': 'application/jsonl' }

/** Responses that may be private. */
const PRIVATE: readonly Row[] = [
  { answer: 'a protected query', path: '/me', by: 'a user', status: 200 },
  { answer: 'a sensitive query', path: '/secret', by: 'a user', status: 200 },
  {
    answer: 'a protected mutation',
    method: 'POST',
    path: '/write',
    headers: JSON_TYPE,
    by: 'a user',
    status: 200,
  },
  { answer: 'a rejection of an anonymous caller', path: '/me', status: 401 },
  { answer: 'a rejection for the role', path: '/users', by: 'a user', status: 403 },
  { answer: 'a query with an optional session, by a user', path: '/whoami', by: 'a user', status: 200 },
  { answer: 'a query with an optional session, by an anonymous caller', path: '/whoami', status: 200 },
  { answer: 'a public query that reads the session', path: '/peek', by: 'a user', status: 200 },
  { answer: 'a public query that reads the session without success', path: '/peek', status: 401 },
  { answer: "a user's rate-limited query", path: '/limited.read', by: 'a user', status: 200 },
  { answer: "a resolver's error", path: '/missing', by: 'a user', status: 404 },
  { answer: 'an unknown procedure', path: '/nothing', status: 404 },
  { answer: 'an input with invalid JSON', path: '/named?input={', by: 'a user', status: 400 },
  {
    answer: 'a body of an unsupported type',
    method: 'POST',
    path: '/write',
    headers: { 'content-type': 'text/plain' },
    by: 'a user',
    status: 415,
  },
  {
    answer: 'a batch of a public and a protected query',
    path: '/health,me?batch=1',
    by: 'a user',
    status: 200,
  },
  {
    answer: 'a batch of a protected and a public query',
    path: '/me,health?batch=1',
    by: 'a user',
    status: 200,
  },
  { answer: 'a batch whose protected query is rejected', path: '/health,me?batch=1', status: 207 },
  { answer: 'a batch that is rejected completely', path: '/me,me?batch=1', status: 401 },
  {
    answer: 'a streamed batch with a protected query',
    path: '/me?batch=1',
    headers: JSON_LINES,
    by: 'a user',
    status: 200,
  },
  {
    answer: 'a streamed batch with only a public query',
    path: '/health?batch=1',
    headers: JSON_LINES,
    status: 200,
  },
  { answer: 'server-sent events', path: '/clock', by: 'a user', status: 200 },
  { answer: 'server-sent events that are rejected', path: '/clock', status: 200 },
]

/** Responses that are the same for every caller. */
const PUBLIC: readonly Row[] = [
  { answer: 'a public query by an anonymous caller', path: '/health', status: 200 },
  {
    answer: "a public query of a user that doesn't read the session",
    path: '/health',
    by: 'a user',
    status: 200,
  },
  { answer: 'a batch of public queries', path: '/health,health?batch=1', by: 'a user', status: 200 },
  { answer: 'a public query with a limit by address', path: '/limited.ping', by: 'a user', status: 200 },
]

describe.each(Object.entries(PATHS))('Cache-Control, %s adapter', (_adapter, root) => {
  async function send({ path, by, status, answer: _, ...request }: Row): Promise<string | undefined> {
    const cookie = by === undefined ? {} : { cookie: (await server.auth.signIn()).cookie }
    const headers = { origin: ORIGIN, ...cookie, ...request.headers }
    const answer = await rawRequest(server, { ...request, path: `${root}${path}`, headers })
    expect(answer.status).toBe(status)
    return answer.headers['cache-control']
  }

  test.each(PRIVATE)('is no-store for $answer ($path, by $by)', async (row) => {
    expect((await send(row))?.split(', ')).toContain('no-store')
  })

  test.each(PUBLIC)('is left to the app for $answer ($path, by $by)', async (row) => {
    expect(await send(row)).toBeUndefined()
  })
})

describe('authResponseMeta', () => {
  const t = initTRPC.context<DatabaseContext>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  const { getAuth } = createAuthRuntime(() => server.auth.definition)
  const router = t.router({
    health: t.procedure.query(() => 'ok'),
    peek: t.procedure.query(({ ctx }) => getAuth(ctx).api.getSession()),
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.session.userId),
  })

  test('is no-store if the context could not be created', async () => {
    const response = await fetchRequestHandler({
      endpoint: '/trpc',
      req: new Request('http://localhost:3000/trpc/health'),
      router,
      responseMeta: authResponseMeta,
      createContext() {
        throw new Error('a bug of the app')
      },
    })
    expect(response.status).toBe(500)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const { headers } = authResponseMeta({ data: [], errors: [] })
    expect(headers?.get('cache-control')).toBe('no-store')
  })

  test.each([
    { path: 'health', cacheControl: 'public, max-age=60' },
    { path: 'me', cacheControl: 'no-store' },
    { path: 'peek', cacheControl: 'no-store' },
  ])('can be extended: $path is $cacheControl', async ({ path, cacheControl }) => {
    const { cookie } = await server.auth.signIn()
    const response = await fetchRequestHandler({
      endpoint: '/trpc',
      req: new Request(`http://localhost:3000/trpc/${path}`, { headers: { cookie } }),
      router,
      createContext: (o) => ({ ...createAuthContext(server.config).http(o), db: server.auth.db }),
      responseMeta(options) {
        const { headers = new Headers() } = authResponseMeta(options)
        if (!headers.has('cache-control')) headers.set('cache-control', 'public, max-age=60')
        return { headers }
      },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe(cacheControl)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })
})
