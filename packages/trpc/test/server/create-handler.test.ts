import { once } from 'node:events'
import { createServer, type RequestOptions, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createTestAuth } from '@sallyport/core/testing'
import {
  authResponseMeta,
  createAuthContext,
  createHandler,
  drain,
  type Handler,
  type HandlerContextOptions,
  type HandlerOptions,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { RenewSession } from '../../src/server/sent-request.ts'
import { soon } from '../support/soon.ts'
import { ORIGIN } from '../support/visitor.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const { config } = auth

const stopped = vi.fn()
async function* ready(signal: AbortSignal) {
  try {
    yield 'ready'
    await once(signal, 'abort')
  } finally {
    stopped()
  }
}
const t = initTRPC.context<ReturnType<typeof createContext>>().create()
const router = t.router({
  health: t.procedure.query(() => 'ok'),
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.id),
  size: t.procedure.input(z.string()).mutation(({ input }) => input.length),
  ticks: t.procedure.use(sessionMiddleware).subscription(({ ctx }) => ready(ctx.auth.signal)),
  lines: t.procedure.use(sessionMiddleware).query(({ ctx }) => ready(ctx.auth.signal)),
})
const contexts = createAuthContext(config, { db: auth.db })
function createContext(options: HandlerContextOptions) {
  return { ...contexts.http(options), db: auth.db }
}
const options = { auth, config, router, createContext }
const send = (text: string) =>
  new Request(`${ORIGIN}/trpc/size`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: ORIGIN },
    body: JSON.stringify(text),
  })

test.each(['/trpc', '/trpcs/health', '/api/authentic', '/healthz/', '/'])(
  'responds with 404 to %s',
  async (path) => {
    const response = await createHandler(options)(new Request(ORIGIN + path))
    expect([response.status, await response.text()]).toEqual([404, 'Not found'])
  },
)

test('without auth, serves tRPC alone', async () => {
  const handle = createHandler({ config, router, createContext, endpoint: '/rpc' })
  const paths = ['/rpc/health', '/trpc/health', '/api/auth/session', '/healthz']
  const statuses = paths.map(async (path) => (await handle(new Request(ORIGIN + path))).status)
  expect(await Promise.all(statuses)).toEqual([200, 404, 404, 404])
})

test('a context without auth gets responses that are never cached', async () => {
  const open = initTRPC.context<{ plan: string }>().create()
  const router = open.router({ plan: open.procedure.query(({ ctx }) => ctx.plan) })
  const handle = createHandler({ auth, config, router, createContext: () => ({ plan: 'free' }) })
  const response = await handle(new Request(`${ORIGIN}/trpc/plan`))
  expect(await response.json()).toEqual({ result: { data: 'free' } })
  expect(response.headers.get('cache-control')).toBe('no-store')
})

test('/healthz responds with 503 if a part fails, and says which', async () => {
  const healthz = () => createHandler({ ...options, auth: broken })(new Request(`${ORIGIN}/healthz`))
  const parts = { ...(await auth.readiness()), write: 'DATABASE_READ_ONLY' } as const
  const broken = { handler: auth.handler, readiness: async () => parts }
  const response = await healthz()
  expect([response.status, await response.json()]).toEqual([503, { ok: false, ...parts }])
})

test('/healthz responds with 503 while the server stops', async () => {
  const stopping = await createTestAuth()
  const drained = drain({ auth: stopping, server: [] })
  const response = await createHandler({ ...options, auth: stopping })(new Request(`${ORIGIN}/healthz`))
  expect([response.status, await response.json()]).toEqual([503, { ok: false, draining: true }])
  await drained
})

test('maxBodySize changes the limit of a body', async () => {
  const [handle, small] = [createHandler({ ...options, maxBodySize: 100_000 }), createHandler(options)]
  const text = 'x'.repeat(90_000)
  expect([(await handle(send(text))).status, (await small(send(text))).status]).toEqual([200, 413])
})

test("passes on tRPC's own options, but a private response is never cached", async () => {
  const paths: unknown[] = []
  const handle = createHandler({
    ...options,
    maxBatchSize: 1,
    onError: ({ path }) => paths.push(path),
    responseMeta: () => ({ headers: { 'cache-control': 'public', 'x-own': ['1', '2'] } }),
  })
  const { cookie } = await auth.signIn()
  const get = async (path: string, headers = {}) => {
    const response = await handle(new Request(`${ORIGIN}/trpc/${path}`, { headers }))
    return [response.status, response.headers.get('cache-control'), response.headers.get('x-own')]
  }
  expect(await get('health')).toEqual([200, 'public', '1, 2'])
  expect(await get('me', { cookie })).toEqual([200, 'no-store', '1, 2'])
  expect(await get('me')).toEqual([401, 'no-store', '1, 2'])
  expect((await get('health,health?batch=1&input=%7B%7D'))[0]).toBe(400)
  expect(paths).toContain('me')
})

describe('the headers of responseMeta', () => {
  const renew: RenewSession = async (_read, request) => () => {
    request.responseHeaders = new Headers([['set-cookie', 'guard=1']])
  }
  const renewing = createAuthContext(config, { renew })
  const cookiesOf = async (responseMeta: HandlerOptions<typeof router>['responseMeta'] & object) => {
    const handle = createHandler({
      ...options,
      responseMeta,
      createContext: (o) => ({ ...renewing.http(o), db: auth.db }),
    })
    const { cookie } = await auth.signIn()
    return (await handle(new Request(`${ORIGIN}/trpc/me`, { headers: { cookie } }))).headers
  }

  test.each<[string, HandlerOptions<typeof router>['responseMeta'] & object, string[]]>([
    ['none', () => ({}), ['guard=1']],
    ['a cookie of the app', () => ({ headers: { 'set-cookie': 'app=1' } }), ['app=1', 'guard=1']],
    [
      'cookies of the app',
      () => ({ headers: { 'set-cookie': ['app=1', 'app=2'] } }),
      ['app=1', 'app=2', 'guard=1'],
    ],
    [
      'cookies in a Headers object',
      () => ({ headers: new Headers([['set-cookie', 'app=1']]) }),
      ['app=1', 'guard=1'],
    ],
    ['those of the guards, once', (response) => authResponseMeta(response), ['guard=1']],
  ])('are sent with the cookies of the guards: %s', async (_name, responseMeta, expected) => {
    expect((await cookiesOf(responseMeta)).getSetCookie()).toEqual(expected)
  })

  test('are not sent without a value', async () => {
    const headers = await cookiesOf(() => ({ headers: { 'x-own': undefined } }))
    expect(headers.get('x-own')).toBeNull()
  })
})

test('/healthz responds with 200 if every part works, and is never cached', async () => {
  const response = await createHandler(options)(new Request(`${ORIGIN}/healthz`))
  expect(await response.json()).toEqual({ ok: true, ...(await auth.readiness()) })
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
})

test('passes requests to the auth endpoints on, with the address of the connection', async () => {
  const handler = vi.fn(async () => new Response('auth'))
  const handle = createHandler({ ...options, auth: { ...auth, handler } })
  const request = new Request(`${ORIGIN}/api/auth/session`)
  expect(await (await handle(request, { remoteAddress: '192.0.2.1' })).text()).toBe('auth')
  expect(handler.mock.calls).toEqual([[request, { remoteAddress: '192.0.2.1' }]])
  await handle(request)
  expect(handler).toHaveBeenLastCalledWith(request, { remoteAddress: undefined })
})

describe('the limit of a body', () => {
  const handle = createHandler({ ...options, maxBodySize: 10 })
  const headers = { 'content-type': 'application/json', origin: ORIGIN }
  const sendTo = async (path: string, body: BodyInit, more: Record<string, string> = {}) => {
    const init = { method: 'POST', headers: { ...headers, ...more }, body, duplex: 'half' }
    return (await handle(new Request(`${ORIGIN}/trpc/${path}`, init))).status
  }
  const stream = (text: string) => new Blob([text]).stream()

  test.each([
    ['a body of the maximum size', '"12345678"', 200],
    ['a body with a byte more', '"123456789"', 413],
  ])('%s: announced or not, responds with %3$i', async (_name, text, status) => {
    expect(await sendTo('size', text, { 'content-length': String(text.length) })).toBe(status)
    expect(await sendTo('size', stream(text))).toBe(status)
  })

  test('a body that announces too much is rejected before it is read', async () => {
    const cancelled = vi.fn()
    const endless = new ReadableStream({ cancel: cancelled })
    expect(await sendTo('size', endless, { 'content-length': '11' })).toBe(413)
  })

  test.each(['text/plain', 'made/up'])('a body of %s that announces too much is too large', async (type) => {
    expect(await sendTo('size', stream('"1"'), { 'content-type': type, 'content-length': '11' })).toBe(413)
  })

  test('a body that announces its length is not read if no procedure reads it', async () => {
    expect(await sendTo('missing', new ReadableStream(), { 'content-length': '5' })).toBe(404)
  })

  test('a body that is longer than it announces is rejected when it is read', async () => {
    expect(await sendTo('size', stream('"123456789"'), { 'content-length': '5' })).toBe(413)
  })

  test('a body that breaks off is an error of its own', async () => {
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('gone')) })
    await expect(sendTo('size', broken)).rejects.toThrow('gone')
  })
})

describe('over Node', () => {
  const onError = vi.fn()
  let server: Server
  beforeAll(async () => {
    const handle = createHandler({ ...options, maxBodySize: 10, onError })
    const listener = getRequestListener((request) => handle(request), { errorHandler: onError })
    server = createServer(listener).listen(0)
    await once(server, 'listening')
  })
  beforeEach(() => onError.mockClear())
  afterAll(() => server.close())

  const open = (sent: RequestOptions) =>
    request({ port: (server.address() as AddressInfo).port, agent: false, ...sent })

  test('a TRACE that announces a body too large is rejected for its method', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': '11' }
    const sent = open({ method: 'TRACE', path: '/trpc/health', headers })
    const [response] = await once(sent.end('x'.repeat(11)), 'response')
    expect(response.resume().statusCode).toBe(405)
  })

  test('a client that disconnects in its body causes no internal error', async () => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const sent = open({ method: 'POST', path: '/trpc/size', headers }).on('error', () => {})
    sent.write('"')
    await once(server, 'request')
    sent.destroy()
    await soon(() => expect(onError).toHaveBeenCalled())
    expect(onError.mock.calls).toMatchObject([[{ error: { code: 'BAD_REQUEST' } }]])
  })

  test.each([
    { transport: 'server-sent events', path: '/trpc/ticks', accept: 'text/event-stream', errors: [] },
    {
      transport: 'JSON lines',
      path: '/trpc/lines?batch=1&input={}',
      accept: 'application/jsonl',
      errors: [[{ error: { code: 'CLIENT_CLOSED_REQUEST' } }]],
    },
  ])(
    'a client that disconnects from $transport causes no internal error',
    async ({ path, accept, errors }) => {
      stopped.mockClear()
      const { cookie } = await auth.signIn()
      const sent = open({ path, headers: { cookie, origin: ORIGIN, accept, 'trpc-accept': accept } })
      const [response] = await once(sent.end(), 'response')
      for await (const chunk of response.iterator({ destroyOnReturn: false }))
        if (String(chunk).includes('ready')) break
      response.destroy()
      await soon(() => expect(stopped).toHaveBeenCalled())
      await new Promise((resolve) => setImmediate(resolve))
      expect(onError.mock.calls).toMatchObject(errors)
    },
  )
})

test('a Fastify plugin serves the same paths, and reads no bodies', async () => {
  const pathsOf = async (handle: Handler, chosen?: { trpc: boolean }) => {
    const [all, removeAllContentTypeParsers, addContentTypeParser] = [vi.fn(), vi.fn(), vi.fn()]
    await handle.fastify({ all, removeAllContentTypeParsers, addContentTypeParser }, chosen)
    expect(removeAllContentTypeParsers).toHaveBeenCalledTimes(1)
    expect(addContentTypeParser).toHaveBeenCalledExactlyOnceWith('*', expect.any(Function))
    return all.mock.calls.map(([path]) => path)
  }
  const handle = createHandler(options)
  expect(await pathsOf(handle)).toEqual(['/api/auth/*', '/healthz', '/trpc/*'])
  expect(await pathsOf(handle, { trpc: false })).toEqual(['/api/auth/*', '/healthz'])
  const alone = createHandler({ config, router, createContext, endpoint: '/rpc' })
  expect(await pathsOf(alone)).toEqual(['/rpc/*'])
})
