import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { MAX_BATCH_SIZE } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import express from 'express'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket, type WebSocketServer } from 'ws'
import { readAudit } from '../../../core/test/support/read-audit.ts'
import { soon } from '../support/soon.ts'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'
import { follow, type Host, openVisitor } from './open-visitor.ts'
import { RATION, streaming } from './router.ts'
import { LISTED_ORIGIN, testAuth } from './test-auth.ts'
import { respond } from './web.ts'
import { serveWebSockets } from './web-sockets.ts'

const READY = { ok: true, read: 'ok', write: 'ok', feed: 'ok', keys: 'ok', clock: 'ok' }

const ADAPTERS = [
  { adapter: 'Hono', load: () => import('./hono.ts') },
  { adapter: 'Express', load: () => import('./express.ts') },
  { adapter: 'Fastify', load: () => import('./fastify.ts') },
  { adapter: 'node:http', load: () => import('./node-http.ts') },
  { adapter: 'Next.js route handlers', load: () => import('./next/server.ts'), sockets: false },
  { adapter: "Express with tRPC's adapter", load: () => import('./express-trpc.ts'), cors: false },
  { adapter: "Fastify with tRPC's adapter", load: () => import('./fastify-trpc.ts'), cors: false },
]

/** Listens on a free port until the end of the tests. */
async function listen(server: Server): Promise<Host> {
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return `localhost:${port}`
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

const admin = await testAuth.signIn({ role: 'admin' })
const ada = await testAuth.signIn()
afterAll(() => testAuth.close())

const ada2 = () => testAuth.signIn({ userId: ada.userId })
const reasonOf = (body: string) => /"reason":"(\w+)"/.exec(body)?.[1]

describe.each(ADAPTERS)('$adapter', ({ load, sockets = true, cors = true }) => {
  let server: Server
  let host: Host
  let wss: WebSocketServer | undefined
  beforeAll(async () => {
    server = (await load()).server
    host = await listen(server)
    if (sockets) wss = serveWebSockets(server).wss
  })
  afterAll(async () => {
    for (const socket of wss?.clients ?? []) socket.terminate()
    await close(server)
  })

  test("accepts the cookies of a sign-up, and records the user's address", async () => {
    const visitor = openVisitor(host)
    const email = `${crypto.randomUUID()}@example.com`
    const signUp = await visitor.post('/api/auth/sign-up/email', {
      name: 'Ada',
      email,
      password: TEST_PASSWORD,
    })
    const { userId } = await signUp.json()
    expect({ status: signUp.status, me: await visitor.client.me.query() }).toEqual({
      status: 200,
      me: userId,
    })
    const { address } = visitor
    expect(await readAudit(testAuth, userId)).toContainEqual(
      expect.objectContaining({ type: 'session.created', address }),
    )
  })

  test('treats the calls of a batch as one request, and rejects a batch over the limit', async () => {
    const visitor = openVisitor(host, ada)
    const before = testAuth.lookups.count
    const { client } = visitor
    expect(await Promise.all([client.me.query(), client.say.mutate('hello'), client.me.query()])).toEqual([
      ada.userId,
      5,
      ada.userId,
    ])
    // One for the queries, one for the mutation.
    expect(testAuth.lookups.count - before).toBe(2)
    const calls = Array(MAX_BATCH_SIZE + 1).fill('health')
    expect((await visitor.fetch(`/trpc/${calls.join()}?batch=1&input=%7B%7D`)).status).toBe(400)
  })

  test('responds with no-store to a private query, but not to a public one', async () => {
    const visitor = openVisitor(host, ada)
    const cacheControl = async (path: string) => (await visitor.fetch(path)).headers.get('cache-control')
    expect(await Promise.all(['/trpc/me', '/trpc/health', '/api/auth/session'].map(cacheControl))).toEqual([
      'no-store',
      null,
      'no-store',
    ])
  })

  test.each([
    { from: 'another site', headers: FOREIGN },
    { from: 'an unknown origin', headers: {} },
  ])('rejects a mutation from $from with ORIGIN_REJECTED', async ({ headers }) => {
    const answer = await fetch(`http://${host}/trpc/say`, {
      method: 'POST',
      headers: { cookie: ada.cookie, 'content-type': 'application/json', ...headers },
      body: '"hello"',
    })
    expect([answer.status, reasonOf(await answer.text())]).toEqual([403, 'ORIGIN_REJECTED'])
  })

  test('accepts a program without an origin if it sends the client header', async () => {
    const answer = await fetch(`http://${host}/trpc/say`, {
      method: 'POST',
      headers: { cookie: ada.cookie, 'content-type': 'application/json', 'x-sallyport': '1' },
      body: '"hello"',
    })
    expect(await answer.json()).toEqual({ result: { data: 5 } })
  })

  test.each(['/trpc/say', '/api/auth/update-user'])(
    'rejects an oversized body of %s with 413 before it has arrived completely',
    async (path) => {
      expect(await sendEndlessBody(host, { path, cookie: ada.cookie })).toBe(413)
    },
  )

  test.each(['/trpc/say', '/api/auth/update-user'])(
    'serves the next request after an oversized body of %s, on the same connection or another one',
    async (path) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      onTestFinished(() => agent.destroy())
      const body = JSON.stringify('x'.repeat(16 * MAX_PAYLOAD_BYTES))
      const rejected = await send(host, { path, cookie: ada.cookie, agent, body })
      expect(rejected).toBe(413)
      const next = () => send(host, { path: '/trpc/health', cookie: ada.cookie, agent })
      // Some servers close the connection.
      expect(await next().catch(next)).toBe(200)
    },
  )

  test('rejects a body just over the limit with 413', async () => {
    const text = 'x'.repeat(MAX_PAYLOAD_BYTES)
    expect((await openVisitor(host, ada).post('/trpc/say', [text])).status).toBe(413)
  })

  test('accepts a body just under the limit', async () => {
    const visitor = openVisitor(host, ada)
    const text = 'x'.repeat(MAX_PAYLOAD_BYTES - 100)
    expect(await visitor.client.say.mutate(text)).toBe(text.length)
  })

  test('responds with 401 SESSION_NOT_FOUND to the next call after a revocation', async () => {
    const session = await ada2()
    const visitor = openVisitor(host, session)
    expect((await visitor.fetch('/trpc/me')).status).toBe(200)
    await testAuth.revoke(session)
    const answer = await visitor.fetch('/trpc/me')
    expect([answer.status, reasonOf(await answer.text())]).toEqual([401, 'SESSION_NOT_FOUND'])
  })

  test("rate-limits by the visitor's address", async () => {
    const [visitor, other] = [openVisitor(host, ada), openVisitor(host, ada)]
    expect(await visitor.client.address.query()).toBe(visitor.address)
    const call = async () => (await visitor.fetch('/trpc/rationed')).status
    for (let times = 0; times < RATION; times++) expect(await call()).toBe(200)
    const rejected = await visitor.fetch('/trpc/rationed')
    expect([rejected.status, reasonOf(await rejected.text())]).toEqual([429, 'RATE_LIMITED'])
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await other.fetch('/trpc/rationed')).status).toBe(200)
  })

  test('checks roles, and reads the session again for a sensitive procedure', async () => {
    const [user, boss] = [openVisitor(host, ada), openVisitor(host, admin)]
    const rejected = await user.fetch('/trpc/users')
    expect([rejected.status, reasonOf(await rejected.text())]).toEqual([403, 'ROLE_REQUIRED'])
    expect(await boss.client.users.query()).toBe('all of them')
    expect(await user.client.rotate.mutate()).toBe(ada.sessionId)
  })

  test('ends a subscription over server-sent events with the reason', async () => {
    const session = await ada2()
    const stream = follow(openVisitor(host, session).overEvents())
    await stream.begun
    await testAuth.revoke(session)
    expect(await stream.ended).toBe('SESSION_NOT_FOUND')
    await soon(() => expect(streaming).toEqual(new Set()))
  })

  test('ends a subscription over server-sent events on the server when its client leaves', async () => {
    const stream = follow(openVisitor(host, ada).overEvents())
    await stream.begun
    expect(streaming).toEqual(new Set([ada.userId]))
    stream.unsubscribe()
    await soon(() => expect(streaming).toEqual(new Set()))
  })

  if (cors) {
    test.each([
      { origin: LISTED_ORIGIN, status: 204, allowed: LISTED_ORIGIN },
      { origin: FOREIGN.origin, status: 403, allowed: null },
    ])('responds with $status to a preflight from $origin', async ({ origin, status, allowed }) => {
      const headers = { origin, 'access-control-request-method': 'POST' }
      for (const path of ['/trpc/say', '/api/auth/sign-out']) {
        const answer = await fetch(`http://${host}${path}`, { method: 'OPTIONS', headers })
        expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, allowed])
      }
      const answer = await fetch(`http://${host}/trpc/health`, { headers: { origin } })
      expect(answer.headers.get('access-control-allow-origin')).toBe(allowed)
      expect(answer.headers.get('vary')).toContain('Origin')
    })
  }

  if (!sockets) return

  test('reports that it is ready', async () => {
    const answer = await fetch(`http://${host}/healthz`)
    expect([answer.status, await answer.json()]).toEqual([200, READY])
  })

  test('accepts a call over WebSocket, and responds to each call of a frame separately', async () => {
    const client = openVisitor(host, ada).overWebSocket()
    expect(await client.me.query()).toBe(ada.userId)
    const frame = Array(MAX_BATCH_SIZE + 1).fill({ id: 1, method: 'query', params: { path: 'health' } })
    const socket = new WebSocket(`ws://${host}/trpc`, { origin: ORIGIN })
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    socket.send(JSON.stringify(frame))
    expect(String(await once(socket, 'message'))).toContain('"data":{"ok":true}')
  })

  test('ends a subscription over WebSocket with the reason', async () => {
    const session = await ada2()
    const stream = follow(openVisitor(host, session).overWebSocket())
    await stream.begun
    await testAuth.revoke(session)
    expect(await stream.ended).toBe('SESSION_NOT_FOUND')
    await soon(() => expect(streaming).toEqual(new Set()))
  })

  test("closes a banned user's WebSocket with 4403", async () => {
    const session = await testAuth.signIn()
    const socket = new WebSocket(`ws://${host}/trpc`, { origin: ORIGIN, headers: { cookie: session.cookie } })
    onTestFinished(() => socket.terminate())
    await once(socket, 'open')
    socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'me' } }))
    await once(socket, 'message')
    const closed = once(socket, 'close')
    await testAuth.ban(session)
    expect(await closed).toEqual([4403, Buffer.from('ACCOUNT_BANNED')])
  })

  test("identifies a WebSocket by the visitor's address", async () => {
    const visitor = openVisitor(host, ada)
    expect(await visitor.overWebSocket().address.query()).toBe(visitor.address)
  })

  test.each([
    { from: 'a foreign page', headers: { ...FOREIGN } },
    { from: 'a program without an origin', headers: {} },
  ])('rejects a WebSocket from $from with 403', async ({ headers }) => {
    const socket = new WebSocket(`ws://${host}/trpc`, { headers: { ...headers, cookie: ada.cookie } })
    onTestFinished(() => socket.terminate())
    const status = await new Promise((resolve) => {
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode))
      socket.on('error', () => {})
    })
    expect(status).toBe(403)
  })
})

test.each([
  { framework: 'Express', load: () => import('./express.ts') },
  { framework: 'Fastify', load: () => import('./fastify.ts') },
])("$framework parses the bodies of the app's own routes", async ({ load }) => {
  const { server } = await load()
  const host = await listen(server)
  onTestFinished(() => close(server))
  const response = await openVisitor(host).post('/webhook', { hello: 'world' })
  expect(await response.json()).toEqual({ received: { hello: 'world' } })
})

test('express.json() before our handler leaves no body to read', async () => {
  const app = express().use(express.json({ strict: false }))
  app.all(
    ['/trpc/*path', '/api/auth/*path'],
    getRequestListener((incoming) => respond(incoming)),
  )
  const server = createServer(app)
  const host = await listen(server)
  onTestFinished(() => close(server))
  const visitor = openVisitor(host, ada)
  const call = await visitor.post('/trpc/say', ['hello'])
  expect([call.status, await call.text()]).toEqual([400, expect.stringContaining('received undefined')])
  const signIn = await visitor.post('/api/auth/sign-in/email', { email: 'a@example.com', password: 'x' })
  expect([signIn.status, (await signIn.json()).code]).toEqual([400, 'INVALID_INPUT'])
})

/** Sends a request with a complete body, and returns the status of the response. */
async function send(
  host: Host,
  { path, cookie, agent, body }: { path: string; cookie: string; agent: Agent; body?: string },
): Promise<number | undefined> {
  const headers = { cookie, origin: ORIGIN, 'content-type': 'application/json' }
  const method = body === undefined ? 'GET' : 'POST'
  const sending = request(`http://${host}${path}`, { method, headers, agent })
  const received = once(sending, 'response')
  sending.end(body)
  const [response] = await received
  await text(response)
  return response.statusCode
}

/**
 * Sends the start of a body and waits for a response. A server that reads the whole body first never
 * responds.
 */
async function sendEndlessBody(
  host: Host,
  { path, cookie }: { path: string; cookie: string },
): Promise<number | undefined> {
  const headers = { cookie, origin: ORIGIN, 'content-type': 'application/json' }
  const sending = request(`http://${host}${path}`, { method: 'POST', headers, agent: false })
  onTestFinished(() => void sending.on('error', () => {}).destroy())
  sending.write('x'.repeat(2 * MAX_PAYLOAD_BYTES))
  const [{ statusCode }] = await once(sending, 'response')
  return statusCode
}
