import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastifyWebsocket from '@fastify/websocket'
import { getRequestListener } from '@hono/node-server'
import {
  authHandlerOptions,
  createAuthContext,
  createHandler,
  type RequestContextOptions,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { type CreateExpressContextOptions, createExpressMiddleware } from '@trpc/server/adapters/express'
import { type CreateFastifyContextOptions, fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import {
  type CreateHTTPContextOptions,
  createHTTPHandler,
  createHTTPServer,
} from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'
import { testAuth } from './test-auth.ts'

const authConfig = testAuth.config
const context = createAuthContext(authConfig, { db: testAuth.db })
const createContext = (options: RequestContextOptions) => ({
  ...context.request(options),
  db: testAuth.db,
})
const t = initTRPC.context<ReturnType<typeof createContext>>().create()
const router = t.router({
  transport: t.procedure.query(({ ctx }) => ctx.auth.transport),
  change: t.procedure.use(sessionMiddleware).mutation(({ ctx }) => ctx.auth.transport),
})
const trpcOptions = { router, createContext, ...authHandlerOptions }

test('takes the options of adapters one by one', () => {
  type Options = CreateExpressContextOptions | CreateFastifyContextOptions | CreateHTTPContextOptions
  expectTypeOf<Pick<Options, 'req' | 'res' | 'info'>>().toExtend<RequestContextOptions>()
  expectTypeOf(({ req, res, info }: Options) => context.request({ req, res, info })).toBeFunction()
})

function withSockets(server: Server): Server {
  const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
  applyWSSHandler({ wss, ...trpcOptions })
  return server
}

const SERVERS: { adapter: string; open: () => Promise<Server> | Server }[] = [
  {
    adapter: 'Fastify with useWSS',
    async open() {
      const app = fastify()
      await app.register(fastifyWebsocket, { options: webSocketOptions(authConfig) })
      await app.register(fastifyTRPCPlugin, { prefix: '/trpc', useWSS: true, trpcOptions })
      await app.ready()
      return app.server
    },
  },
  {
    adapter: 'createHTTPServer',
    open: () => withSockets(createHTTPServer({ ...trpcOptions, basePath: '/trpc/' })),
  },
  {
    adapter: 'createHTTPHandler',
    open: () => withSockets(createServer(createHTTPHandler({ ...trpcOptions, basePath: '/trpc/' }))),
  },
  {
    adapter: 'Express',
    open: () =>
      withSockets(createServer(express().use('/trpc', createExpressMiddleware({ ...trpcOptions })))),
  },
  {
    adapter: 'Hono',
    open() {
      const handle = createHandler({ config: authConfig, router, createContext })
      const app = new Hono().all('/trpc/*', (c) => handle(c.req.raw))
      return withSockets(createServer(getRequestListener(app.fetch)))
    },
  },
]

afterAll(() => testAuth.close())

describe.each(SERVERS)('$adapter: one createContext', ({ open }) => {
  let server: Server
  let host: string
  beforeAll(async () => {
    server = (await open()).listen(0)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    host = `localhost:${port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Unlike `fetch`, may send `Connection` and `Upgrade`. */
  async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
    const sending = request(`http://${host}${path}`, { headers, agent: false }).end()
    const [response] = await once(sending, 'response')
    let body = ''
    for await (const chunk of response) body += chunk
    return body
  }

  async function overSocket(calls: object, headers: Record<string, string>): Promise<string> {
    const socket = new WebSocket(`ws://${host}/trpc`, { headers: { origin: ORIGIN, ...headers } })
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    socket.send(JSON.stringify(calls))
    const [message] = await once(socket, 'message')
    return String(message)
  }

  test('detects HTTP', async () => {
    expect(JSON.parse(await get('/trpc/transport'))).toEqual({ result: { data: 'http' } })
  })

  test('detects WebSocket', async () => {
    const call = { id: 1, method: 'query', params: { path: 'transport' } }
    expect(JSON.parse(await overSocket(call, {})).result.data).toBe('ws')
  })

  test.each([
    { forged: 'an Upgrade header', query: '', headers: { upgrade: 'websocket' } },
    {
      forged: 'the headers of a handshake',
      query: '',
      headers: { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
    },
    { forged: 'connection parameters', query: '?connectionParams=%7B%22token%22%3A%22a%22%7D', headers: {} },
    { forged: 'a response', query: '?res[readyState]=1&res[close]=1&readyState=1', headers: { res: '1' } },
  ])('treats a request with $forged as HTTP', async ({ query, headers }) => {
    expect(JSON.parse(await get(`/trpc/transport${query}`, { ...headers }))).toEqual({
      result: { data: 'http' },
    })
  })

  test('checks the origin of each mutation over HTTP, and of the handshake over WebSocket', async () => {
    const { cookie } = await testAuth.signIn()
    const headers = { cookie, 'content-type': 'application/json', upgrade: 'websocket' }
    const send = async (from: Record<string, string>) => {
      const sending = request(`http://${host}/trpc/change`, {
        method: 'POST',
        headers: { ...headers, ...from },
      })
      const [{ statusCode }] = await once(sending.end(), 'response')
      return statusCode
    }
    expect([await send({ origin: ORIGIN }), await send(FOREIGN)]).toEqual([200, 403])
    const call = { id: 1, method: 'mutation', params: { path: 'change' } }
    expect(JSON.parse(await overSocket(call, { cookie })).result.data).toBe('ws')
  })

  test("closes a banned user's WebSocket", async () => {
    const session = await testAuth.signIn()
    const socket = new WebSocket(`ws://${host}/trpc`, { origin: ORIGIN, headers: { cookie: session.cookie } })
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    socket.send(JSON.stringify({ id: 1, method: 'mutation', params: { path: 'change' } }))
    await once(socket, 'message')
    const closed = once(socket, 'close')
    await testAuth.ban(session)
    expect((await closed)[0]).toBe(4403)
  })
})
