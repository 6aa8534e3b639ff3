import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { fastify } from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addRoutes } from '../../src/server/fastify-plugin.ts'
import { soon } from '../support/soon.ts'

type Respond = Parameters<typeof addRoutes>[2]
type Routes = Parameters<typeof addRoutes>[0]

const echo: Respond = async (request, { remoteAddress }) => {
  const { method, url, headers } = request
  return Response.json({ method, url, own: headers.get('x-own'), body: await request.text(), remoteAddress })
}

async function serve(respond: Respond, { http2 = false } = {}): Promise<number> {
  const options: object = { http2 }
  const app = fastify(options)
  await app.register(async (routes: Routes) => addRoutes(routes, ['/api/*', '/health'], respond))
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  return (app.server.address() as AddressInfo).port
}

/** Sends these lines. With HTTP/1.0, the server ends the response by closing the connection. */
async function send(port: number, ...lines: string[]): Promise<{ status: number; body: string }> {
  const socket = connect(port, '127.0.0.1')
  socket.write(lines.join('\r\n'))
  let text = ''
  for await (const chunk of socket) text += chunk
  return { status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) }
}

const HOST = 'Host: app.example'

describe('a route of the plugin gets', () => {
  test.each([
    {
      name: 'the URL and the method',
      lines: ['GET /api/note?of=ada HTTP/1.0', HOST, '', ''],
      expected: { method: 'GET', url: 'http://app.example/api/note?of=ada', own: null, body: '' },
    },
    {
      name: 'every path of the plugin',
      lines: ['GET /health HTTP/1.0', HOST, '', ''],
      expected: { method: 'GET', url: 'http://app.example/health', own: null, body: '' },
    },
    {
      name: 'all values of a header',
      lines: ['GET /api/note HTTP/1.0', HOST, 'X-Own: 1', 'x-own: 2', '', ''],
      expected: { method: 'GET', url: 'http://app.example/api/note', own: '1, 2', body: '' },
    },
    {
      name: 'a request without a host',
      lines: ['GET /api/note HTTP/1.0', '', ''],
      expected: { method: 'GET', url: 'http://localhost/api/note', own: null, body: '' },
    },
    ...['application/json', 'text/plain', 'made/up'].map((type) => ({
      name: `a body of ${type}, unparsed`,
      lines: ['POST /api/note HTTP/1.0', HOST, `Content-Type: ${type}`, 'Content-Length: 2', '', '{['],
      expected: { method: 'POST', url: 'http://app.example/api/note', own: null, body: '{[' },
    })),
  ])('$name', async ({ lines, expected }) => {
    const { status, body } = await send(await serve(echo), ...lines)
    expect(status).toBe(200)
    expect(JSON.parse(body)).toEqual({ ...expected, remoteAddress: '127.0.0.1' })
  })

  test('a request for the head of a response', async () => {
    const methods: string[] = []
    const port = await serve(async ({ method }) => {
      methods.push(method)
      return new Response('note')
    })
    expect(await send(port, 'HEAD /api/note HTTP/1.0', HOST, '', '')).toEqual({ status: 200, body: '' })
    expect(methods).toEqual(['HEAD'])
  })

  test('a request over HTTP/2, whose own headers the Fetch API rejects', async () => {
    const session = connectHttp2(`http://127.0.0.1:${await serve(echo, { http2: true })}`)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/api/note', 'x-own': '1' })
    const [headers] = await once(stream, 'response')
    let body = ''
    for await (const chunk of stream) body += chunk
    expect(headers[':status']).toBe(200)
    expect(JSON.parse(body)).toMatchObject({ method: 'GET', own: '1' })
  })
})

test.each([
  ...['a host', '[', 'app.example:port', 'ada:secret@app.example', ''].map((host) => ({
    method: 'GET',
    host,
  })),
  ...['app.example/api/user?', 'app.example\\api\\user#'].map((host) => ({ method: 'GET', host })),
  { method: 'TRACE', host: 'app.example' },
])('rejects $method with the host $host', async ({ method, host }) => {
  const port = await serve(() => expect.fail('A route must not be called'))
  const rejected = await send(port, `${method} /api/note HTTP/1.0`, `Host: ${host}`, '', '')
  expect(rejected).toEqual({ status: 400, body: 'Bad Request' })
})

test.each(['http://app.example/api/note', '/api/../note', '/api/%2E%2E/note', '/api\\..\\note'])(
  'rejects the path %s, because the path of the request would be another one',
  async (path) => {
    const port = await serve(() => expect.fail('A route must not be called'))
    const { status } = await send(port, `GET ${path} HTTP/1.0`, HOST, '', '')
    expect([400, 404]).toContain(status)
  },
)

type Reader = ReadableStreamDefaultReader<Uint8Array>

test.each<{ name: string; read: (reader: Reader) => unknown }>([
  { name: 'was never read', read: () => {} },
  { name: 'was read in part', read: (reader) => reader.read() },
  { name: 'was canceled', read: async (reader) => (await reader.read()) && reader.cancel() },
])('the response and the next request pass a body that $name', async ({ read }) => {
  const port = await serve(async ({ method, body }) => {
    if (method === 'GET') return new Response('The next one')
    if (body) await read(body.getReader())
    return new Response('Too large', { status: 413 })
  })
  const length = 1_000_000
  const head = ['POST /api/note HTTP/1.1', HOST, `Content-Length: ${length}`, '']
  const next = ['GET /api/note HTTP/1.0', HOST, '', '']
  const { status, body } = await send(port, ...head, 'x'.repeat(length) + next.join('\r\n'))
  expect(status).toBe(413)
  expect(body).toMatch(/Too large[\s\S]+The next one$/)
})

test.each([
  { name: 'never ends', next: '1\r\nx\r\n' },
  { name: 'stalls while it is read', next: '' },
])('a body that $name does not keep its connection open after the response', async ({ next }) => {
  const port = await serve(async ({ body }) => {
    if (next === '') await body?.getReader().read()
    return new Response('Too large', { status: 413 })
  })
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}).resume()
  const head = ['POST /api/note HTTP/1.1', HOST, 'Transfer-Encoding: chunked', '', '']
  socket.write(`${head.join('\r\n')}1\r\nx\r\n`)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 413 /)
  const sending = setInterval(() => socket.write(next), 20)
  // `once` would reject if the connection is reset.
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(sending)
})

describe('the signal of a request', () => {
  test.each([
    { request: 'GET', lines: ['GET /api/note HTTP/1.0', HOST, '', ''] },
    {
      request: 'POST, in its body,',
      lines: ['POST /api/note HTTP/1.0', HOST, 'Content-Length: 9', '', 'text'],
    },
  ])('of a $request aborts when the client disconnects before its response', async ({ lines }) => {
    const received = Promise.withResolvers<AbortSignal>()
    const port = await serve(({ signal }) => {
      received.resolve(signal)
      return new Promise(() => {})
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(lines.join('\r\n'))
    const signal = await received.promise
    expect(signal.aborted).toBe(false)
    socket.destroy()
    await soon(() => expect(signal.aborted).toBe(true))
  })

  test('does not abort after the response', async () => {
    const signals: AbortSignal[] = []
    const port = await serve(async ({ signal }) => {
      signals.push(signal)
      return new Response('note')
    })
    await send(port, 'GET /api/note HTTP/1.0', HOST, '', '')
    await new Promise((resolve) => setImmediate(resolve))
    expect(signals).toMatchObject([{ aborted: false }])
  })
})
