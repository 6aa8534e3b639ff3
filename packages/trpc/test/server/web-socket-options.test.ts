import { EventEmitter, once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { authHandlerOptions, webSocketOptions } from '@sallyport/trpc'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { cutUpgraded, rememberUpgraded } from '../../src/server/upgraded-sockets.ts'
import { connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openStream } from '../support/stream.ts'
import { browser, FOREIGN, ORIGIN } from '../support/visitor.ts'

const PARTNER = 'https://partner.example'

const server = await startServer({ allowedOrigins: [PARTNER] })
const careless = await startServer({ upgradeCheck: 'missing' })
const bearerServer = await startServer({ bearer: true })
afterEach(() => Promise.all([server.clear(), careless.clear(), bearerServer.clear()]))
afterAll(() => Promise.all([server.close(), careless.close(), bearerServer.close()]))

/** Performs a handshake. Resolves to `open`, or the status and the message of the rejection. */
async function send(target: Pick<TestServer, 'host'>, headers: Record<string, string>): Promise<string> {
  const socket = new WebSocket(`ws://${target.host}/ws`, { headers })
  const answer = Promise.withResolvers<string>()
  socket.on('open', () => answer.resolve('open'))
  socket.on('unexpected-response', (_request, response) => {
    response.setEncoding('utf8').on('data', (text) => answer.resolve(`${response.statusCode} ${text}`))
  })
  // A rejected socket's own error adds nothing.
  socket.on('error', () => {})
  const result = await answer.promise
  socket.terminate()
  return result
}

describe('the upgrade check', () => {
  const REFUSED = '403 ORIGIN_REJECTED'

  test.each([
    { from: 'our own origin', headers: { origin: ORIGIN }, answer: 'open' },
    { from: 'our own site', headers: { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }, answer: 'open' },
    { from: 'a listed origin', headers: { origin: PARTNER, 'sec-fetch-site': 'cross-site' }, answer: 'open' },
    { from: 'a foreign origin', headers: FOREIGN, answer: REFUSED },
    { from: 'a foreign origin of an old browser', headers: { origin: FOREIGN.origin }, answer: REFUSED },
    { from: 'a sandboxed frame', headers: { origin: 'null' }, answer: REFUSED },
    { from: 'a sister site', headers: { origin: 'http://localhost:4000' }, answer: REFUSED },
    { from: 'no origin', headers: {}, answer: REFUSED },
    { from: 'no origin, with our header', headers: { 'x-sallyport': '1' }, answer: REFUSED },
  ])('from $from: $answer', async ({ headers, answer }) => {
    const { cookie } = await server.auth.signIn()
    expect(await send(server, { ...headers, cookie })).toBe(answer)
    expect(await send(server, { ...headers })).toBe(answer)
  })

  test('accepts every origin if bearer transport is enabled', async () => {
    expect(await send(bearerServer, FOREIGN)).toBe('open')
  })

  test('rejects with 500, and the process continues, if a configuration that is read later is invalid', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => void vi.restoreAllMocks())
    const config = defineAuthConfig(() => ({ baseUrl: '', jwks: staticJwks('[]') }))
    const wss = new WebSocketServer({ port: 0, ...webSocketOptions(config) })
    onTestFinished(() => wss.close())
    await once(wss, 'listening')
    const { port } = wss.address() as AddressInfo
    expect(await send({ host: `localhost:${port}` }, { origin: ORIGIN })).toMatch(/^500 /)
    expect(error).toHaveBeenCalledWith(
      'sallyport: CONFIGURATION_INVALID in upgrade (step1)',
      expect.objectContaining({ name: 'ConfigurationError' }),
    )
  })
})

/** Sends the lines of an upgrade, which may be invalid, and returns the status and the body. */
async function upgrade(target: Pick<TestServer, 'host'>, ...lines: string[]): Promise<string> {
  const socket = connect(Number(target.host.split(':')[1]), 'localhost')
  const upgradeLines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  const key = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
  socket.write([...lines, ...upgradeLines, key, `Origin: ${ORIGIN}`, '', ''].join('\r\n'))
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.includes('101 Switching Protocols')) break
  }
  return `${text.slice(9, 12)} ${text.slice(text.indexOf('\r\n\r\n') + 4)}`.trim()
}

test.each([
  { lines: ['GET /ws HTTP/1.1', 'Host: localhost:3000'], answer: '101' },
  { lines: ['GET /ws HTTP/1.1', 'Host: ['], answer: '400 Bad Request' },
  { lines: ['GET /ws HTTP/1.1', 'Host: a host'], answer: '400 Bad Request' },
])('an upgrade with $lines gets $answer', async ({ lines, answer }) => {
  expect(await upgrade(server, ...lines)).toBe(answer)
})

describe('a stopping server', () => {
  const connection = (of: object, destroyed = false) =>
    Object.assign(new EventEmitter(), { ...of, destroyed, destroy: vi.fn() })

  test('cuts its own WebSockets that are open, and no others', () => {
    const [one, two] = [{}, {}]
    const connections = [
      connection({ server: one }),
      connection({ server: two }),
      connection({ server: one }, true),
      connection({ server: one }),
      connection({}),
    ]
    for (const each of connections) rememberUpgraded(each)
    connections[3]?.emit('close')
    const cuts = () => connections.map(({ destroy }) => destroy.mock.calls.length)
    cutUpgraded(one)
    expect(cuts()).toEqual([1, 0, 0, 0, 0])
    cutUpgraded(undefined)
    expect(cuts()).toEqual([1, 0, 0, 0, 0])
    for (const each of connections) each.emit('close')
  })
})

describe('an app that forgot webSocketOptions', () => {
  test.each([
    { origin: 'a foreign origin', headers: FOREIGN },
    { origin: 'no origin', headers: {} },
  ])('opens connections from $origin, and every call on them is ORIGIN_REJECTED', async ({ headers }) => {
    const { cookie } = await careless.auth.signIn()
    const client = connectWebSocket(careless, { headers: { ...headers, cookie } })
    const subscription = openStream(client.clock)
    const outcomes = await Promise.all([
      outcomeOf(client.me.query()),
      outcomeOf(client.write.mutate()),
      outcomeOf(client.rotate.mutate()),
      outcomeOf(client.whoami.query()),
      subscription.first,
    ])
    for (const { rejection } of outcomes) expect(rejection?.auth?.reason).toBe('ORIGIN_REJECTED')
    expect(careless.stage.runs).toEqual([])
    expect(careless.auth.lookups.count).toBe(0)
  })

  test('accepts its own origin', async () => {
    const session = await careless.auth.signIn()
    expect(await connectWebSocket(careless, browser(session)).me.query()).toBe(session.userId)
  })
})

describe('limits', () => {
  const transports = ['httpBatchLink over node', 'httpBatchLink over fetch'] as const

  test.each(transports)(
    '21 calls in one batch: 400 BAD_REQUEST, and none of them runs, over %s',
    async (transport) => {
      const { client, answers } = connectHttp(server, browser(await server.auth.signIn()), transport)
      const outcomes = await Promise.all(Array.from({ length: 21 }, () => outcomeOf(client.me.query())))
      for (const { rejection } of outcomes)
        expect(rejection).toMatchObject({ code: 'BAD_REQUEST', httpStatus: 400 })
      expect(answers).toMatchObject([{ status: 400 }])
      expect(server.stage.runs).toEqual([])
    },
  )

  test.each(transports)('20 calls in one batch run, over %s', async (transport) => {
    const { client, answers } = connectHttp(server, browser(await server.auth.signIn()), transport)
    await Promise.all(Array.from({ length: 20 }, () => client.me.query()))
    expect(answers).toMatchObject([{ status: 200 }])
    expect(server.stage.runs).toHaveLength(20)
  })

  /** Sends one message on a separate connection. Resolves to its responses, or the close code. */
  async function send(
    message: string,
    answers: number,
  ): Promise<{ messages: string[]; closed: number | null }> {
    const { cookie } = await server.auth.signIn()
    const socket = new WebSocket(`ws://${server.host}/ws`, { headers: { cookie, origin: ORIGIN } })
    const messages: string[] = []
    const done = Promise.withResolvers<number | null>()
    socket.on('open', () => socket.send(message))
    socket.on('close', (code) => done.resolve(code))
    socket.on('message', (data) => {
      messages.push(String(data))
      if (messages.length === answers) done.resolve(null)
    })
    const closed = await done.promise
    socket.terminate()
    return { messages, closed }
  }

  const frame = (calls: number) =>
    JSON.stringify(
      Array.from({ length: calls }, (_, id) => ({ id, method: 'query', params: { path: 'me' } })),
    )

  test("a WebSocket frame isn't a batch: its calls run separately, in any number", async () => {
    const { messages } = await send(frame(45), 45)
    for (const message of messages) expect(JSON.parse(message)).toHaveProperty('result')
    expect(server.stage.runs).toHaveLength(45)
  })

  test.each([
    { bytes: 65_536, closed: null },
    { bytes: 65_537, closed: 1009 },
  ])('a WebSocket message of $bytes bytes: closed with $closed', async ({ bytes, closed }) => {
    const call = JSON.stringify({ id: 1, method: 'query', params: { path: 'me' } })
    const result = await send(call.padEnd(bytes), 1)
    expect(result.closed).toBe(closed)
    expect(server.stage.runs).toHaveLength(closed === null ? 1 : 0)
  })

  test('are configurable', () => {
    expect(authHandlerOptions).toEqual({
      maxBatchSize: 20,
      maxBodySize: 65_536,
      keepAlive: { enabled: true },
    })
    expect(webSocketOptions(server.config).maxPayload).toBe(65_536)
  })
})
