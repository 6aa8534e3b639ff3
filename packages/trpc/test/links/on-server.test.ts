import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestSession } from '@sallyport/core/testing'
import { authLink, createAuthClient, subscriptionLink, webSocketLink } from '@sallyport/trpc/client'
import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  httpSubscriptionLink,
  type TRPCLink,
} from '@trpc/client'
import { EventSource } from 'eventsource'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { createPageLink } from '../../src/ssr/page-link.ts'
import type { AppRouter } from '../support/router.ts'
import { PATHS, startServer } from '../support/start-server.ts'

const server = await startServer()
const baseUrl = `http://${server.host}`
const url = `${baseUrl}${PATHS.fetch}`
let ada: TestSession
beforeEach(async () => {
  ada = await server.auth.signIn()
})
afterEach(() => server.clear())
afterAll(() => server.close())

const page = (cookie = ada.cookie) => new Headers({ cookie })

/** Opens the client of a page, and records its requests. */
function openPage(options: Parameters<typeof createAuthClient>[0] = {}) {
  const sent: string[] = []
  const authClient = createAuthClient({
    baseUrl,
    fetch(input, init) {
      sent.push(String(input).replace(/.*\/([^?]*).*/, '$1'))
      return fetch(input, init)
    },
    ...options,
  })
  const http = { url, fetch: authClient.fetch }
  const links = {
    httpLink: () => httpLink(http),
    httpBatchLink: () => httpBatchLink(http),
    httpBatchStreamLink: () => httpBatchStreamLink(http),
    webSocketLink: () => webSocketLink(authClient, { url: `ws://${server.host}/ws` }),
    subscriptionLink: () => subscriptionLink(authClient, { url, EventSource }),
  } satisfies Record<string, () => TRPCLink<AppRouter>>
  const connect = (link: keyof typeof links) =>
    createTRPCClient<AppRouter>({ links: [authLink(authClient), links[link]()] })
  return { authClient, sent, connect, links }
}

const rejectedWith = (reason: string) => ({ data: { auth: { reason } } })

/** Subscribes, and resolves with the error. */
function subscribe(client: ReturnType<ReturnType<typeof openPage>['connect']>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    client.clock.subscribe(undefined, { onError: resolve, onData: reject, onComplete: reject })
  })
}

describe("a page's call without the page's headers", () => {
  const LINKS = [
    'httpLink',
    'httpBatchLink',
    'httpBatchStreamLink',
    'webSocketLink',
    'subscriptionLink',
  ] as const

  test.each(LINKS)('over %s is rejected at once, without a request or a timer', async (link) => {
    const timer = vi.spyOn(globalThis, 'setTimeout')
    const channel = vi.spyOn(globalThis, 'BroadcastChannel')
    onTestFinished(() => void vi.restoreAllMocks())
    const { connect, sent } = openPage({ hydrate: { status: 'authenticated', expiresIn: 1, ...ada } })
    const client = connect(link)
    await expect(client.me.query()).rejects.toMatchObject(rejectedWith('TOKEN_MISSING'))
    await expect(client.write.mutate()).rejects.toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(await subscribe(client)).toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(sent).toEqual([])
    expect(server.sockets.size).toBe(0)
    expect(timer).not.toHaveBeenCalled()
    expect(channel).not.toHaveBeenCalled()
  })
})

describe("a page's call with the page's headers", () => {
  test.each(['httpLink', 'httpBatchLink', 'httpBatchStreamLink'] as const)(
    'over %s is made for the user of the page',
    async (link) => {
      const { connect, sent } = openPage({ headers: page() })
      expect(await connect(link).me.query()).toBe(ada.userId)
      expect(sent).toEqual(['me'])
    },
  )

  test('is sent without a cookie if the page has none', async () => {
    const { connect, sent } = openPage({ headers: new Headers() })
    await expect(connect('httpLink').me.query()).rejects.toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(sent).toEqual(['me'])
  })

  test.each([
    {
      what: 'expired',
      cookie: async () => (await server.auth.expireJwt(ada)).cookie,
      reason: 'TOKEN_EXPIRED',
    },
    {
      what: 'belongs to an ended session',
      cookie: async () => {
        await server.auth.revoke(ada)
        return ada.cookie
      },
      reason: 'SESSION_NOT_FOUND',
    },
  ])('fails after one request if the JWT $what', async ({ cookie, reason }) => {
    const { connect, sent, authClient } = openPage({ headers: page(await cookie()) })
    await expect(connect('httpLink').me.query()).rejects.toMatchObject(rejectedWith(reason))
    expect(sent).toEqual(['me'])
    expect(authClient.getState().status).toBe('loading')
  })

  test('fails after one request in an outage', async () => {
    server.store.answer = () => Promise.reject(new Error('The database is down'))
    const { connect, sent } = openPage({ headers: page() })
    await expect(connect('httpLink').me.query()).rejects.toMatchObject(rejectedWith('SESSIONS_UNAVAILABLE'))
    expect(sent).toEqual(['me'])
  })

  test.each(['webSocketLink', 'subscriptionLink'] as const)('never connects %s', async (link) => {
    const client = openPage({ headers: page() }).connect(link)
    expect(await subscribe(client)).toMatchObject(rejectedWith('TOKEN_MISSING'))
    await expect(client.me.query()).rejects.toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(server.sockets.size).toBe(0)
  })

  test('is never a subscription, over any link', async () => {
    const { authClient, sent } = openPage({ headers: page() })
    const events = httpSubscriptionLink<AppRouter, typeof EventSource>({
      url,
      EventSource,
      eventSourceOptions: { fetch: authClient.fetch },
    })
    const client = createTRPCClient<AppRouter>({ links: [authLink(authClient), events] })
    expect(await subscribe(client)).toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(sent).toEqual([])
  })

  test.each(['webSocketLink', 'subscriptionLink'] as const)(
    'never connects %s without authLink',
    async (link) => {
      const client = createTRPCClient<AppRouter>({ links: [openPage({ headers: page() }).links[link]()] })
      expect(await subscribe(client)).toMatchObject(rejectedWith('TOKEN_MISSING'))
    },
  )
})

describe('a call with the page of createServerAuth', () => {
  const headers = new Headers()
  /** Connects a page whose function `call` runs each work twice, and a link that counts its calls. */
  function openServerPage() {
    const sent: string[] = []
    const link: TRPCLink<AppRouter> = () => (call) => {
      sent.push(call.op.path)
      return openPage({ headers: page() }).links.httpLink()({})(call)
    }
    const call = async <Result>(work: (headers: Headers) => Promise<Result>) => {
      await work(headers)
      return work(headers)
    }
    const serverPage = { '~link': createPageLink((work) => call(work)) }
    return { sent, client: createTRPCClient<AppRouter>({ links: [authLink(serverPage), link] }) }
  }

  test('is a query that the page makes, and may repeat', async () => {
    const { client, sent } = openServerPage()
    expect(await client.me.query()).toBe(ada.userId)
    expect(sent).toEqual(['me', 'me'])
  })

  test('fails with the error of the page', async () => {
    const { client } = openServerPage()
    await server.auth.revoke(ada)
    await expect(client.me.query()).rejects.toMatchObject(rejectedWith('SESSION_NOT_FOUND'))
  })

  test('is never a mutation or a subscription: a page may be requested by another site', async () => {
    const { client, sent } = openServerPage()
    await expect(client.write.mutate()).rejects.toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(await subscribe(client)).toMatchObject(rejectedWith('TOKEN_MISSING'))
    expect(sent).toEqual([])
  })
})

describe("the page's cookies", () => {
  /** Starts a server of another origin, which records the cookies that it gets. */
  async function openOther(location?: string) {
    const cookies: (string | undefined)[] = []
    const other = createServer((request, response) => {
      cookies.push(request.headers.cookie)
      response
        .writeHead(location ? 302 : 200, location ? { location } : {})
        .end('{"result":{"data":"other"}}')
    })
    await new Promise<void>((resolve) => other.listen(0, 'localhost', resolve))
    onTestFinished(() => void other.close().closeAllConnections())
    const { port } = other.address() as AddressInfo
    return { cookies, origin: `http://localhost:${port}` }
  }

  test('are sent to no other origin', async () => {
    const other = await openOther()
    const { authClient } = openPage({ headers: page() })
    const client = createTRPCClient<AppRouter>({
      links: [authLink(authClient), httpLink({ url: `${other.origin}/trpc`, fetch: authClient.fetch })],
    })
    expect(await client.me.query()).toBe('other')
    await authClient.fetch(new Request(`${other.origin}/trpc/me`))
    await authClient.fetch(new URL(`${other.origin}/trpc/me`))
    expect(other.cookies).toEqual([undefined, undefined, undefined])
  })

  test("aren't sent to the target of a redirect", async () => {
    const target = await openOther()
    const other = await openOther(target.origin)
    const { authClient } = openPage({ baseUrl: `${other.origin}/`, headers: page() })
    expect((await authClient.fetch(`${other.origin}/trpc/me`)).status).toBe(302)
    expect(other.cookies).toEqual([ada.cookie])
    expect(target.cookies).toEqual([])
  })

  test('are sent with an own fetch, as a Request, with its headers', async () => {
    const other = await openOther()
    const { authClient } = openPage({ baseUrl: other.origin, headers: page() })
    await authClient.fetch(new Request(`${other.origin}/trpc/me`, { headers: { 'x-trace': '1' } }))
    expect(other.cookies).toEqual([ada.cookie])
  })

  test('are sent nowhere without a baseUrl', async () => {
    const other = await openOther()
    const { authClient } = openPage({ baseUrl: '', headers: page() })
    await authClient.fetch(`${other.origin}/trpc/me`)
    expect(other.cookies).toEqual([undefined])
  })
})

describe('the client of a page', () => {
  test('sends no request to refresh, and keeps no timer for a listener', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => void vi.restoreAllMocks())
    const { authClient, sent } = openPage({
      headers: page(),
      hydrate: { status: 'authenticated', expiresIn: 900, ...ada },
    })
    const stop = authClient.subscribe(() => {})
    expect(await authClient.refresh()).toMatchObject({ status: 'authenticated' })
    stop()
    expect(sent).toEqual([])
    expect(timer).not.toHaveBeenCalled()
  })

  test('calls an endpoint once', async () => {
    const { cookie } = await server.auth.expireJwt(ada)
    const { authClient, sent } = openPage({ headers: page(cookie) })
    const { getSession } = authClient.api as { getSession(): Promise<object> }
    await expect(getSession()).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
    expect(sent).toEqual(['session'])
  })

  test('tries to sign out once', async () => {
    const { authClient, sent } = openPage({ fetch: () => Promise.reject(new TypeError('fetch failed')) })
    expect(await authClient.signOut()).toMatchObject({ error: { code: 'UNREACHABLE' } })
    expect(sent).toEqual([])
  })
})

describe('a client is on a server', () => {
  test.each([
    { where: 'in Node, Deno, Bun, or workerd', globals: {}, isServer: true },
    { where: 'in React Native, which has no document', globals: { window: globalThis }, isServer: false },
    { where: "in a browser's worker", globals: { location: new URL(baseUrl) }, isServer: false },
    { where: 'if it keeps tokens', options: { transport: () => ({ ...tokens }) }, isServer: false },
    { where: 'if the option is false', options: { isServer: false }, isServer: false },
    {
      where: 'if the option is true',
      globals: { window: globalThis },
      options: { isServer: true },
      isServer: true,
    },
  ])('$where: $isServer', ({ globals = {}, options = {}, isServer }) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
    onTestFinished(() => void vi.unstubAllGlobals())
    expect(Boolean(createAuthClient(options)[clientSession].server)).toBe(isServer)
  })
})

const tokens = { credentials: 'omit', headers: () => ({}) } as const
