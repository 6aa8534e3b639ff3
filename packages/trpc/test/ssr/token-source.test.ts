import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cookieWith, createScene, pageRequest, type Scene, SOURCES } from './scene.ts'

const TRUSTED = { trustedProxies: ['10.0.0.0/8'] }

describe.each(SOURCES)('a token endpoint %s', (source) => {
  let scene: Scene
  let cookie: string
  beforeAll(async () => {
    scene = await createScene(source, TRUSTED)
    cookie = await cookieWith('missing', scene, await scene.auth.signIn())
  })
  beforeEach(() => void scene.asked.splice(0))
  afterAll(() => scene.close())

  test("receives the cookies and the program's header, and nothing else of the page", async () => {
    const headers = {
      origin: 'http://localhost:3000',
      'sec-fetch-site': 'same-origin',
      referer: 'http://localhost:3000/',
      authorization: 'Basic eDp5',
      'x-forwarded-host': 'evil.example',
      'content-type': 'text/plain',
    }
    await scene.serverAuth(pageRequest(cookie, { method: 'POST', headers, body: 'text' }))
    const [{ request } = {}] = scene.asked
    expect(request?.method).toBe('GET')
    expect(request?.url).toBe(
      `${source === 'elsewhere' ? 'https://auth.example.com' : 'http://localhost:3000'}/api/auth/backend/token`,
    )
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      accept: 'application/json',
      cookie,
      'x-sallyport': '1',
    })
    expect([request?.redirect, request?.cache]).toEqual(
      source === 'elsewhere' ? ['manual', 'no-store'] : ['follow', 'default'],
    )
  })

  test.each([
    ['that is unknown', undefined, undefined, null],
    ['from an untrusted proxy', undefined, '203.0.113.9', null],
    ['of the connection', '203.0.113.9', undefined, '203.0.113.9'],
    ['of the connection, despite its own header', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['from our own proxy', '10.0.0.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['before two proxies of the app', '10.0.0.1', '198.51.100.1, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
  ])('gets the address %s', async (_what, remoteAddress, forwardedFor, address) => {
    const headers: Record<string, string> =
      forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    await scene.serverAuth(pageRequest(cookie, { headers }), { remoteAddress })
    const [asked] = scene.asked
    const forwarded = asked?.request.headers.get('x-forwarded-for') ?? null
    expect([asked?.remoteAddress ?? null, forwarded]).toEqual(
      source === 'elsewhere' ? [null, address] : [address, null],
    )
  })
})

describe('over HTTP', () => {
  let scene: Scene
  let cookie: string
  const servers: Server[] = []
  const received: { url: string | undefined; headers: IncomingHttpHeaders }[] = []
  beforeAll(async () => {
    scene = await createScene()
    cookie = await cookieWith('missing', scene, await scene.auth.signIn())
  })
  beforeEach(() => void received.splice(0))
  afterAll(async () => {
    for (const server of servers) server.closeAllConnections()
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    await scene.close()
  })

  async function listen(server: Server): Promise<string> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const authServer = () => {
    const answer = getRequestListener((request) => scene.auth.handler(request))
    return createServer((req, res) => {
      received.push({ url: req.url, headers: req.headers })
      void answer(req, res)
    })
  }
  const pageOf = (url: string, errors: unknown[] = []) =>
    createServerAuth({
      config: { ...scene.auth.config, onFailure: ({ cause }) => void errors.push(cause) },
      token: { url },
    })(pageRequest(cookie))

  test('a real auth server responds with a JWT', async () => {
    const page = await pageOf(await listen(authServer()))
    expect(page.state.status).toBe('authenticated')
    expect(page.setCookies).toHaveLength(1)
  })

  test('supports a proxy that prefixes the path of /api/auth', async () => {
    const answer = getRequestListener((request) => {
      const url = request.url.replace('/gateway/auth', '')
      return scene.auth.handler(new Request(url, { headers: request.headers }))
    })
    const proxy = createServer((req, res) => void answer(req, res))
    const page = await pageOf(`${await listen(proxy)}/gateway/auth/`)
    expect(page.state.status).toBe('authenticated')
  })

  test.each([301, 302, 303, 307, 308])('%i sends the cookies to no other host', async (status) => {
    const other = await listen(authServer())
    const redirecting = createServer((req, res) => {
      res.writeHead(status, { location: `${other}${req.url}` }).end()
    })
    const errors: unknown[] = []
    const page = await pageOf(await listen(redirecting), errors)
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'SESSIONS_UNAVAILABLE'])
    expect(errors).toEqual([
      new Error(`The token endpoint responded with ${status}. Check the option token of createServerAuth`),
    ])
    expect(received).toEqual([])
  })

  test('an unreachable one decides nothing', async () => {
    const gone = createServer()
    const url = await listen(gone)
    await new Promise((resolve) => gone.close(resolve))
    servers.splice(servers.indexOf(gone), 1)
    const page = await pageOf(url)
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'SESSIONS_UNAVAILABLE'])
  })

  test('a slow request times out', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const [asked, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const mute = createServer((req) => {
      req.socket.once('close', () => closed.resolve())
      asked.resolve()
    })
    const serverAuth = createServerAuth({
      config: scene.auth.config,
      token: { url: await listen(mute) },
      timeoutMs: 50,
    })
    const rendering = serverAuth(pageRequest(cookie))
    await asked.promise
    vi.advanceTimersByTime(50)
    const page = await rendering
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'SESSIONS_UNAVAILABLE'])
    await closed.promise
  })
})
